"""One libFuzzer process: start it, read its log and marker, detect hangs, find its deadly input.

Its output goes to a file and its state to a marker. So it can be stopped, killed or lost at any
moment, and both can still be read.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.coverage.checks import NAMES
from wirefence.fuzz.coverage.dictionary import format_dictionary, load_parser_words
from wirefence.fuzz.coverage.inflight_marker import Sighting, read_marker
from wirefence.fuzz.coverage.target_settings import TargetSettings, encode_settings
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.processes.hang_detector import HangTimer
from wirefence.targets.scratch import Scratch

__all__ = ["FOLDER", "FuzzProcess", "Job", "LogTail", "Progress", "find_executable", "find_seeds"]

FOLDER = Path(__file__).resolve().parents[1]
_STATUS = re.compile(rb"^#\d+\t[^\n]*?cov: (\d+) ft: (\d+) corp: (\d+)/", re.MULTILINE)
_ARTIFACTS = ("crash-*", "timeout-*", "oom-*", "leak-*")
_TAIL_SIZE = 64 * 1024
"""Bytes of the log that are kept; a report of a sanitizer fits."""
_GRACE = 5.0
"""Seconds that a process has for its own end."""
_NO_LIMIT = 0


def find_executable(name: str) -> Path:
    """Return the file of a libFuzzer target. Raises UsageError for an unknown name."""
    if name not in NAMES:
        raise UsageError(f"there is no fuzz target {name!r}", f"use one of {', '.join(NAMES)}")
    return FOLDER / f"{name}.py"


def find_seeds(name: str) -> Path:
    """Return the committed seed corpus of a libFuzzer target."""
    return FOLDER / "seeds" / name


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: a libFuzzer target, its settings, and the corpus that it reads and extends.

    ``seeds`` are further folders, only read. ``flags`` are libFuzzer's. ``variables`` are changes
    of the environment. ``seconds`` 0 means no limit.
    """

    name: str
    orders: TargetSettings
    corpus: Path
    seeds: tuple[Path, ...] = ()
    seed: int = 1
    seconds: int = _NO_LIMIT
    flags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of one process: inputs run, and libFuzzer's edges, features and corpus size."""

    sighting: Sighting = field(default_factory=Sighting)
    edges: int = 0
    features: int = 0
    corpus: int = 0


@dataclass(slots=True)
class LogTail:
    """Reads a growing log, and keeps its end."""

    path: Path
    offset: int = 0
    text: bytes = b""

    def read_new(self) -> bytes:
        """Return what is new; the last 64 KiB of everything stay in :attr:`text`."""
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            new = stream.read()
        self.offset += len(new)
        self.text = (self.text + new)[-_TAIL_SIZE:]
        return new


class FuzzProcess:
    """A libFuzzer process of a job; its files are in ``folder`` until :meth:`close`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._scratch = Scratch("fuzz")
        self.folder = self._scratch.path
        self.progress = Progress()
        self._seen = Sighting()
        self._tail = LogTail(self.folder / "log")
        self._process = self._start_process()
        self._patience = HangTimer(self._process.pid)

    def _start_process(self) -> subprocess.Popen[bytes]:
        job, folder = self.job, self.folder
        (folder / "dict").write_text(format_dictionary(load_parser_words()))
        job.corpus.mkdir(parents=True, exist_ok=True)
        orders = replace(job.orders, marker=str(folder / "marker"))
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own target in our own interpreter
                [*self._make_command(), *map(str, (job.corpus, *job.seeds))],
                env={**os.environ, **job.variables, **encode_settings(orders)},
                stdin=subprocess.PIPE,  # it exits when this end is closed, as when we die
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must reach only this process
            )

    def _make_command(self) -> Sequence[str]:
        job = self.job
        return (
            *(sys.executable, str(find_executable(job.name))),
            f"-artifact_prefix={self.folder}/",
            *(() if job.orders.plain else (f"-dict={self.folder}/dict",)),
            *(f"-max_total_time={job.seconds}", f"-seed={job.seed}", "-reload=3"),
            # The parent detects hangs, and must not count a stopped process; 0 would mean 1 second.
            *("-timeout=1000000", "-rss_limit_mb=4096", "-print_final_stats=1", *job.flags),
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How the process ended, as ``Popen.returncode``; ``None`` while it runs."""
        return self._process.poll()

    @property
    def text(self) -> str:
        """The end of the log."""
        self._tail.read_new()
        return self._tail.text.decode(errors="replace")

    def read_progress(self) -> Progress:
        """Read log and marker, and return the progress."""
        found = _STATUS.findall(self._tail.read_new())
        edges, features, corpus = map(int, found[-1]) if found else self._last_counts()
        seen = read_marker(self.folder / "marker")
        if seen.begun != self._seen.begun or seen.running is None:
            self._patience.restart()
        self._seen = seen
        self.progress = Progress(seen, edges, features, corpus)
        return self.progress

    def _last_counts(self) -> tuple[int, int, int]:
        before = self.progress
        return before.edges, before.features, before.corpus

    def is_hanging(self, patience: float) -> bool:
        """Return whether one input has run for more than ``patience`` seconds."""
        return self._patience.has_hung(patience)

    def pause(self) -> None:
        """Stop the process."""
        self._send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process; the stopped time does not count for a hang."""
        self._patience.restart()
        self._send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process: its corpus and findings are on disk."""
        self._process.kill()
        self._process.wait()

    def wait_or_kill(self) -> None:
        """Wait a few seconds for the process to exit, then kill it."""
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()

    def _send_signal(self, number: signal.Signals) -> None:
        if self.code is None:
            self._process.send_signal(number)

    def find_deadly_input(self) -> bytes | None:
        """Return the input that killed it: libFuzzer's artifact, else the input in flight."""
        for pattern in _ARTIFACTS:
            for path in sorted(self.folder.glob(pattern)):
                return path.read_bytes()
        return read_marker(self.folder / "marker").running

    def close(self) -> None:
        """Kill the process and remove its files."""
        self.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._scratch.close()
