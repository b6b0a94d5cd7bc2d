"""The nightly round: what it says, what it leaves, and that it can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.crashes.conftest import CALL, ROOT, Git, Wirefence, filed, noisy
from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.crashes import nightly as module
from wirefence.fuzz.crashes.nightly import run_nightly
from wirefence.fuzz.crashes.nightly_config import NightlyConfig, load_config
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.events import Finished, Listener, Tally
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.store.metadata import Status
from wirefence.fuzz.store.scan import scan_folder
from wirefence.fuzz.store.store import Store
from wirefence.fuzz.store.typed_records import as_content

QUICK = """
[nightly]
targets = ["planted:takes-byte-order-mark"]
seconds = 3.0
minimize-seconds = 20.0
workers = 1
seed = 7
"""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HYPOTHESIS_CASES", 2)


def configure(folder: Path, seconds: float = 3.0) -> None:
    """A round that shows the fault at once: given inputs come first, however slow the machine."""
    (folder / "corpus").mkdir()
    (folder / "corpus/mark").write_bytes(noisy(b"\xef\xbb\xbf" + CALL % (99, 99)))
    text = QUICK.replace("3.0", str(seconds)) + 'corpus = ["corpus"]'
    (folder / "wirefence.toml").write_text(text)


def test_the_configuration_of_this_checkout_is_read():
    assert load_config(ROOT / "wirefence.toml").targets


def test_every_key_is_explained():
    page = (ROOT / "docs/crashes.md").read_text(encoding="utf-8")
    for name in as_content(NightlyConfig()):
        assert f"`{name}`" in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[nightly]\nsekonds = 5", "sekonds"),
        ("[nightly]\nseconds = 'long'", "nightly.seconds"),
        ("[nightly]\nseconds = -1", "nightly.seconds"),
        ("[nightly]\nseconds = inf", "nightly.seconds"),
        ("[nightly]\npatience = nan", "nightly.patience"),
        ("[nightly]\ntargets = [5]", r"nightly.targets"),
        ("[nightly]\ntargets = []", r"nightly.targets"),
        ("[nightly]\nprofile = 'lax'", "nightly.profile"),
        ("[nightly]\nseed = 'often'", "nightly.seed"),
        ("[nightly]\nwork = ''", "nightly.work"),
        ('[nightly]\nwork = "a\\u0000b"', "nightly.work"),
        ('[nightly]\ncorpus = ["a\\u0000b"]', "nightly.corpus"),
        ('[nightly]\nreproducers = "\\u0000"', "nightly.reproducers"),
        ('[nightly]\nbranch = "\\u0000"', "nightly.branch"),
        ("[nigthly]\nseconds = 5", "nigthly"),
        ("[nightly", "not valid TOML"),
        ("", r"no table \[nightly\]"),
    ],
)
def test_an_error_of_the_configuration_names_the_key(tmp_path, text, said):
    (tmp_path / "w.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        load_config(tmp_path / "w.toml")


def test_a_round_finds_minimizes_and_commits_one_file_for_the_fault(
    here, git: Git, wirefence: Wirefence
):
    configure(here)
    git("add", "corpus")
    git("commit", "-q", "-m", "corpus")
    ran = wirefence("nightly", "--commit", "nightly")
    assert ran.code == 1
    assert ran.out.count("\n") == 1
    assert "committed as" in ran.out
    assert git("branch", "--list", "nightly")
    files = [n for n in git("ls-tree", "-r", "--name-only", "nightly").split() if ".frame" in n]
    assert len(files) == 1
    assert git("rev-parse", "main") != git("rev-parse", "nightly")
    assert not (here / ".wirefence/nightly.json").exists()
    waits = wirefence("nightly", "--seconds", "1", "--commit", "nightly")
    assert waits.code == 0
    assert "nothing new. 1 reproducer waits on nightly since earlier rounds." in waits.out
    git("merge", "-q", "--ff-only", "nightly")
    again = wirefence("nightly", "--seconds", "1")
    assert "1 reproducers were replayed; all match their status" in again.out


def test_what_went_wrong_alike_is_said_once_and_cut():
    sentence = "could not be run: " + "there is no such command; install it. " * 9
    troubles = [
        *(f"{n:x} {sentence}" for n in range(7)),
        *(f"a.frame is odd {n}" for n in range(9)),
    ]
    said = module.NightlyReport(troubles=troubles).format_text().partition("Not usable: ")[2]
    assert said.count("could not be run") == 1
    assert "6 more like it" in said
    assert "6 other troubles" in said
    assert len(said) < 400


def test_nothing_new_exits_0(here, wirefence: Wirefence):
    (here / "wirefence.toml").write_text(QUICK.replace("planted:takes-byte-order-mark", "orjson"))
    ran = wirefence("nightly", "--seconds", "1")
    assert (ran.code, "nothing new" in ran.out) == (0, True)


def test_a_reproducer_that_cannot_be_used_exits_2(here, wirefence: Wirefence):
    (here / "wirefence.toml").write_text(QUICK.replace("planted:takes-byte-order-mark", "orjson"))
    entry = filed(here / "crashes", b"NaN", "parser:ujson", "nan")
    entry.path.write_bytes(b"edited")
    ran = wirefence("nightly", "--seconds", "1")
    assert ran.code == 2
    assert "Not usable" in ran.out


def test_two_rounds_on_one_directory_are_refused(here):
    (here / "wirefence.toml").write_text(QUICK.replace("3.0", "30.0"))
    process = subprocess.Popen(
        [sys.executable, "-m", "wirefence", "nightly"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        notes = here / ".wirefence/nightly.json"
        until = time.monotonic() + 240
        while not notes.exists() and time.monotonic() < until:
            time.sleep(0.05)
        with pytest.raises(UsageError, match=f"process {process.pid}"):
            run_nightly(load_config(here / "wirefence.toml"), lambda _: None, lambda _: None)
    finally:
        process.kill()
        process.communicate()


def test_a_round_that_was_killed_goes_on_with_what_is_left(here, monkeypatch: pytest.MonkeyPatch):
    configure(here, seconds=600.0)
    process = subprocess.Popen(
        [sys.executable, "-m", "wirefence", "nightly"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    notes, findings = here / ".wirefence/nightly.json", here / ".wirefence/findings"
    until = time.monotonic() + 240
    while time.monotonic() < until:
        spent = json.loads(notes.read_text())["spent"] if notes.exists() else 0.0
        if spent and scan_folder(findings).entries:
            break
        time.sleep(0.05)
    process.kill()
    process.communicate()
    spent = json.loads(notes.read_text())["spent"]
    assert spent > 0
    assert scan_folder(findings).entries
    budgets = []

    def noted(plan: Plan, budget: Budget, *rest: Any, **more: Any) -> int:
        budgets.append(budget.seconds)
        return run_campaign(plan, budget, *rest, **more)

    monkeypatch.setattr(module, "run_campaign", noted)
    config = replace(load_config(here / "wirefence.toml"), seconds=spent + 2.0)
    report = run_nightly(config, lambda _: None, lambda _: None)
    assert report.resumed
    assert budgets == [pytest.approx(2.0)]
    assert report.faults
    assert not notes.exists()


@pytest.mark.parametrize("odd", ["spent", "attempt"])
def test_notes_that_no_round_wrote_begin_a_new_round(here, odd: str):
    notes = {"began": time.time(), "seed": 5, "spent": 1, "attempt": 1}
    (here / "nightly.json").write_text(json.dumps(notes))
    assert module._load_notes(here, NightlyConfig())[1]
    (here / "nightly.json").write_text(json.dumps({**notes, odd: -1}))
    assert not module._load_notes(here, NightlyConfig())[1]


def test_notes_that_cannot_be_written_are_a_sentence(here):
    (here / "nightly.json").mkdir()
    with pytest.raises(UsageError, match=r"cannot write to .*nightly\.json: Is a directory"):
        module._load_notes(here, NightlyConfig())


def test_a_campaign_that_is_told_to_end_ends_the_round_which_can_be_gone_on_with(
    here, monkeypatch: pytest.MonkeyPatch
):
    configure(here)
    config = load_config(here / "wirefence.toml")

    def ended(_plan: Plan, _budget: Budget, out: Path, listener: Listener, **_: Any) -> int:
        filed(out, noisy(b"\xef\xbb\xbf" + CALL % (99, 99)), config.targets[0])
        listener(Finished(1.5, Tally(), 1, "interrupted"))
        return 1

    monkeypatch.setattr(module, "run_campaign", ended)
    monkeypatch.setattr(module, "minimize_reproducer", lambda *_: pytest.fail("went on"))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_nightly(config, lambda _: None, lambda _: None)
    assert scan_folder(here / ".wirefence/findings").entries
    assert json.loads((here / ".wirefence/nightly.json").read_text())["attempt"] == 1


@pytest.mark.parametrize(("status", "count"), [("open", 0), ("fixed", 1)])
def test_a_round_tells_of_a_fixed_fault_that_came_back(
    here, monkeypatch: pytest.MonkeyPatch, status: Status, count: int
):
    (here / "wirefence.toml").write_text(QUICK.replace("planted:takes-byte-order-mark", "ujson"))
    entry = filed(here / "crashes", b"[NaN]", "parser:ujson", "nan")
    Store(here / "crashes").write_reproducer(
        replace(entry.metadata, status=status), entry.case.data
    )
    seen: list[frozenset[str]] = []

    def found(*_: Any, known: frozenset[str], **__: Any) -> int:
        seen.append(known)
        filed(here / ".wirefence/findings", b"NaN", "parser:ujson", "nan")
        return 1

    monkeypatch.setattr(module, "run_campaign", found)
    report = run_nightly(load_config(here / "wirefence.toml"), lambda _: None, lambda _: None)
    assert len(report.faults) == count
    assert (entry.metadata.signature in seen[0]) == (not count)


def test_the_corpus_is_bounded_and_large_inputs_go_first(tmp_path: Path):
    for name, size in (("a", 10), ("b", 100), ("c", 50)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert module._limit_folder_size(tmp_path, 70) == 60
    assert {each.name for each in tmp_path.iterdir()} == {"a", "c"}


def test_the_scripts_are_thin_and_their_actions_pinned():
    for name in ("nightly", "minimize", "compare"):
        text = (ROOT / "scripts" / name).read_text()
        assert f"wirefence {name}" in text or f'wirefence" {name}' in text
        assert len(text.splitlines()) <= 6
        assert (ROOT / "scripts" / name).stat().st_mode & 0o111
    workflow = (ROOT / ".github/workflows/nightly.yml").read_text()
    uses = [line.split("@")[1].split()[0] for line in workflow.splitlines() if "uses:" in line]
    assert uses
    assert all(len(each) == 40 and int(each, 16) for each in uses)


@pytest.mark.parametrize("action", ["actions/cache/save@", "actions/upload-artifact@"])
def test_what_a_failing_round_found_is_kept_as_well(action: str):
    workflow = (ROOT / ".github/workflows/nightly.yml").read_text()
    (step,) = (each for each in workflow.split("      - ") if action in each)
    assert "if: always()" in step
    assert "actions/cache@" not in workflow  # which keeps nothing of a job that fails
