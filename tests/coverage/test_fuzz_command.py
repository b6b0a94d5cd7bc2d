"""``wirefence fuzz`` loses nothing: not by deaths, not by hangs, not by SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz.cli import cli
from wirefence.fuzz.commands import fuzz as fuzz_command
from wirefence.fuzz.coverage.explore import FuzzRequest, ProcessPool, run_fuzz_target
from wirefence.fuzz.coverage.inflight_marker import Sighting
from wirefence.fuzz.coverage.process import Progress
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.events import (
    CoverageProgress,
    Event,
    Finished,
    Found,
    Started,
    Tally,
)
from wirefence.fuzz.store.store import Store, read_case
from wirefence.targets.errors import TargetError

ROOT = Path(__file__).resolve().parents[2]
GUARD = 240.0


def until(condition, seconds: float = GUARD) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "nothing came of it"
        time.sleep(0.1)


def stop_at(events: list[Event], wanted: type, count: int = 1):
    """A listener that ends the run, as Ctrl-C would, once it has heard enough."""

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, wanted) and sum(isinstance(each, wanted) for each in events) == count:
            raise KeyboardInterrupt

    return listen


def request(folder: Path, target: str, **more) -> FuzzRequest:
    return FuzzRequest(
        "fuzz_gateway", folder / "corpus", folder / "out", (target,), seconds=GUARD, **more
    )


def test_the_figures_of_a_process_that_died_are_kept(tmp_path: Path, monkeypatch) -> None:
    class Gone:
        code, text = -9, ""
        progress = Progress(Sighting(begun=8, ended=7, valid=5, calls=3, running=b"x"))

        def read_progress(self) -> Progress:
            return self.progress

        def find_deadly_input(self) -> None:
            return None

        def close(self) -> None:
            pass

    monkeypatch.setattr(ProcessPool, "start_process", lambda pool: pool.running.append(Gone()))
    pool = ProcessPool(request(tmp_path, "planted:healthy"))
    for count in (1, 2, 3):
        pool.start_process() if count == 1 else pool.replace_dead()
        said = pool.sum_progress(1.0, 0)
        assert (said.executions, said.valid, said.calls) == (7 * count, 5 * count, 3 * count)


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("hostile:kills", "live-crash|SIGKILL"),
        ("hostile:aborts", "live-crash|"),
    ],
)
def test_a_death_is_filed_with_its_input_and_fuzzing_goes_on(
    hostile: Path, target: str, kind: str
) -> None:
    events: list[Event] = []
    run_fuzz_target(request(hostile, target), stop_at(events, Found))
    (found,) = [each for each in events if isinstance(each, Found)]
    assert found.finding.signature.startswith(f"{target}|{kind}")
    assert found.case.data.count(b"\n") > 3
    assert read_case(Path(found.path)).data == found.case.data
    assert all(path.read_bytes() != found.case.data for path in (hostile / "corpus").iterdir())


def test_a_hang_is_ended_after_the_patience_and_filed(hostile: Path) -> None:
    events: list[Event] = []
    run_fuzz_target(request(hostile, "hostile:hangs", patience=3.0), stop_at(events, Found))
    (found,) = [each for each in events if isinstance(each, Found)]
    assert found.finding.signature == "hostile:hangs|live-hang:process|none"


def test_known_signatures_are_no_news_and_time_ends_the_run(hostile: Path) -> None:
    events: list[Event] = []
    known = frozenset({"hostile:leaves|live-crash|exit"})
    found = run_fuzz_target(
        FuzzRequest(
            "fuzz_gateway",
            hostile / "corpus",
            hostile / "out",
            ("hostile:leaves",),
            seconds=5,
            known=known,
        ),
        events.append,
    )
    assert found == 0
    assert isinstance(events[0], Started)
    assert isinstance(events[-1], Finished)
    assert (events[-1].reason, len(events[-1].explored)) == ("done", 1)


@pytest.mark.parametrize("place", ["/proc/corpus", "file/corpus"])
def test_a_corpus_that_cannot_be_written_is_told(hostile: Path, place: str) -> None:
    (hostile / "file").touch()
    asked = replace(request(hostile, "planted:healthy"), corpus=hostile / place)
    with pytest.raises(UsageError, match="cannot write to the corpus"):
        run_fuzz_target(asked, lambda _: None)


def test_inputs_that_are_cut_are_counted(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = CoverageProgress("t", 1.0, 1, 1, 1, 1, 1, 1, 0)
    monkeypatch.setattr(
        fuzz_command, "_run_fuzzing", lambda _: (Finished(1.0, Tally(), 0, "done", (ran,)), [])
    )
    words = ["fuzz_parsers", "--corpus", str(hostile / "corpus"), "--target", "json"]
    (hostile / "corpus").mkdir()
    for size in (2_048, 2_049, 5_000):
        (hostile / "corpus" / str(size)).write_bytes(b"1" * size)
        fuzz_command.command.main(words, standalone_mode=False)
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(";")[0] for line in said] == [
        "wirefence: 1 input has more than 2,048 bytes and is cut there",
        "wirefence: 2 inputs have more than 2,048 bytes and are cut there",
    ]


def test_a_target_that_cannot_start_is_told(hostile: Path) -> None:
    with pytest.raises(UsageError):
        run_fuzz_target(request(hostile, "planted:nonsense"), lambda _: None)
    with pytest.raises((UsageError, TargetError)):
        run_fuzz_target(request(hostile, "hostile:absent"), lambda _: None)


def running(word: str) -> list[int]:
    """Processes that name ``word`` on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_sigkill_loses_nothing_that_was_saved_and_a_second_start_resumes(hostile: Path) -> None:
    out, corpus = hostile / "out", hostile / "corpus"
    words = (
        *(
            sys.executable,
            "-m",
            "wirefence",
            "fuzz",
            "fuzz_session",
            "--target",
            "planted:acts-twice",
        ),
        *("--out", str(out), "--corpus", str(corpus), "--workers", "1", "--format", "json"),
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(
        [*words, "--seconds", "200"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: list(out.glob("*/*.json")) and len(list(corpus.glob("*"))) > 8)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    # Its children see the pipe close, and end too.
    until(lambda: not running(str(corpus)))
    saved, inputs = Store(out).read_signatures(), len(list(corpus.iterdir()))
    assert "planted:acts-twice|act-twice|none" in saved
    for path in out.glob("*/*.json"):
        data = path.with_suffix(".frame").read_bytes()
        assert json.loads(path.read_bytes())["size"] == len(data) > 0
    events: list[Event] = []
    wanted = min(8, inputs // 4)

    def until_it_has_its_corpus(event: Event) -> None:
        had = any(isinstance(each, CoverageProgress) and each.corpus >= wanted for each in events)
        events.append(event)
        if isinstance(event, CoverageProgress) and event.corpus >= wanted and not had:
            raise KeyboardInterrupt

    targets = ("planted:acts-twice",)
    second = FuzzRequest("fuzz_session", corpus, out, targets, seconds=GUARD, seed=2)
    run_fuzz_target(second, until_it_has_its_corpus)
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.reason == "interrupted"
    found = {each.finding.signature for each in events if isinstance(each, Found)}
    assert not found & saved
    assert Store(out).read_signatures() >= saved


PARENT = """
import sys, time
from pathlib import Path
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.fuzz.coverage.process import FuzzProcess, Job
settings = TargetSettings(targets=("planted:healthy",))
process = FuzzProcess(Job("fuzz_gateway", settings, Path(sys.argv[1])))
while not process.read_progress().sighting.begun:
    time.sleep(0.1)
process.pause()
print(process.pid, flush=True)
time.sleep(600)
"""


def test_a_stopped_process_does_not_outlive_its_parent(hostile: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(hostile / "corpus")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    try:
        assert parent.stdout is not None
        child = Path("/proc") / parent.stdout.readline().decode().strip()
        assert child.name.isdecimal()
        assert child.exists()
    finally:
        parent.kill()
        parent.communicate()
    until(lambda: not child.exists())


def test_figures_are_told_while_it_runs(hostile: Path) -> None:
    events: list[Event] = []
    enough: list[Event] = []

    def listen(event: Event) -> None:
        events.append(event)
        if isinstance(event, CoverageProgress) and event.edges and event.calls and not enough:
            enough.append(event)
            raise KeyboardInterrupt

    run_fuzz_target(request(hostile, "planted:healthy"), listen)
    assert enough
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.reason == "interrupted"
    (last,) = end.explored
    assert last.executions >= last.valid > 0
    assert last.rate > 0


def test_a_time_too_short_for_any_input_is_no_clean_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures = CoverageProgress("fuzz_parsers", 1.0, 0, 0, 0, 0, 0, 0, 0)
    end = Finished(1.0, Tally(), 0, "done", (figures,))
    monkeypatch.setattr(fuzz_command, "run_fuzz_target", lambda _request, listener: listener(end))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no input was run in 1 s; give more --seconds"):
        cli.main(["fuzz", "fuzz_parsers", "--seconds", "1"], standalone_mode=False)
