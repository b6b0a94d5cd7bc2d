"""One running libFuzzer target: its process, its log, its marker and its artifacts.

The key insight: what a process says goes to a file and what it does to a marker, so it can be
stopped, killed or lost at any moment, and all that it knew is still there to be read.
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
from wirefence.fuzz.coverage.dictionary import as_dictionary, words
from wirefence.fuzz.coverage.inflight_marker import Sighting, read_marker
from wirefence.fuzz.coverage.target_settings import Orders, environment
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.processes.hang_detector import Patience
from wirefence.targets.scratch import Scratch

__all__ = ["FOLDER", "Job", "Process", "Progress", "Tail", "executable", "seeds_of"]

FOLDER = Path(__file__).resolve().parents[1]
_STATUS = re.compile(rb"^#\d+\t[^\n]*?cov: (\d+) ft: (\d+) corp: (\d+)/", re.MULTILINE)
_ARTIFACTS = ("crash-*", "timeout-*", "oom-*", "leak-*")
_TAIL = 64 * 1024
_GRACE = 5.0
_NO_LIMIT = 0


def executable(name: str) -> Path:
    """The file of a libFuzzer target. Raises UsageError for a name that is none."""
    if name not in NAMES:
        raise UsageError(f"there is no fuzz target {name!r}", f"use one of {', '.join(NAMES)}")
    return FOLDER / f"{name}.py"


def seeds_of(name: str) -> Path:
    """The committed seed corpus of a libFuzzer target."""
    return FOLDER / "seeds" / name


@dataclass(frozen=True, slots=True)
class Job:
    """What to run: a libFuzzer target, its orders, the corpus that it reads and adds to.

    ``seeds`` are more folders, only read. ``flags`` are libFuzzer's. ``variables`` are changes of
    the environment. ``seconds`` 0 is for ever.
    """

    name: str
    orders: Orders
    corpus: Path
    seeds: tuple[Path, ...] = ()
    seed: int = 1
    seconds: int = _NO_LIMIT
    flags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """What one process has done: inputs run, and libFuzzer's edges, features and corpus size."""

    sighting: Sighting = field(default_factory=Sighting)
    edges: int = 0
    features: int = 0
    corpus: int = 0


@dataclass(slots=True)
class Tail:
    """Reads a growing log: the latest status line, and the end of the text."""

    path: Path
    offset: int = 0
    text: bytes = b""

    def read(self) -> bytes:
        """What is new; the last 64 KiB of everything stay in :attr:`text`."""
        with self.path.open("rb") as stream:
            stream.seek(self.offset)
            new = stream.read()
        self.offset += len(new)
        self.text = (self.text + new)[-_TAIL:]
        return new


class Process:
    """A libFuzzer process of a job; its files live in ``folder`` until :meth:`close`."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._scratch = Scratch("fuzz")
        self.folder = self._scratch.path
        self.progress = Progress()
        self._seen = Sighting()
        self._tail = Tail(self.folder / "log")
        self._process = self._start()
        self._patience = Patience(self._process.pid)

    def _start(self) -> subprocess.Popen[bytes]:
        job, folder = self.job, self.folder
        (folder / "dict").write_text(as_dictionary(words()))
        job.corpus.mkdir(parents=True, exist_ok=True)
        orders = replace(job.orders, marker=str(folder / "marker"))
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own target in our own interpreter
                [*self._command(), *map(str, (job.corpus, *job.seeds))],
                env={**os.environ, **job.variables, **environment(orders)},
                stdin=subprocess.PIPE,  # it ends when this end is closed, as at our death
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us alone
            )

    def _command(self) -> Sequence[str]:
        job = self.job
        return (
            *(sys.executable, str(executable(job.name))),
            f"-artifact_prefix={self.folder}/",
            *(() if job.orders.plain else (f"-dict={self.folder}/dict",)),
            *(f"-max_total_time={job.seconds}", f"-seed={job.seed}", "-reload=3"),
            # The parent knows of hangs, and a stopped process is none; 0 ends it after a second.
            *("-timeout=1000000", "-rss_limit_mb=4096", "-print_final_stats=1", *job.flags),
        )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """How the process ended, as ``Popen.returncode``; ``None`` while it runs."""
        return self._process.poll()

    @property
    def text(self) -> str:
        """The end of its log."""
        self._tail.read()
        return self._tail.text.decode(errors="replace")

    def look(self) -> Progress:
        """Take note of what it has done since the last look."""
        found = _STATUS.findall(self._tail.read())
        edges, features, corpus = map(int, found[-1]) if found else self._counts()
        seen = read_marker(self.folder / "marker")
        if seen.begun != self._seen.begun or seen.running is None:
            self._patience.restart()
        self._seen = seen
        self.progress = Progress(seen, edges, features, corpus)
        return self.progress

    def _counts(self) -> tuple[int, int, int]:
        before = self.progress
        return before.edges, before.features, before.corpus

    def stuck(self, patience: float) -> bool:
        """Whether one input has been running for more than ``patience`` seconds."""
        return self._patience.over(patience)

    def pause(self) -> None:
        """Stop it where it is."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on; time in which it was stopped is nobody's fault."""
        self._patience.restart()
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once: its corpus and findings are on disk."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Wait a little for its own end, then end it."""
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()

    def _signal(self, number: signal.Signals) -> None:
        if self.code is None:
            self._process.send_signal(number)

    def victim(self) -> bytes | None:
        """The input that it died of: libFuzzer's artifact, else what the marker says ran."""
        for pattern in _ARTIFACTS:
            for path in sorted(self.folder.glob(pattern)):
                return path.read_bytes()
        return read_marker(self.folder / "marker").running

    def close(self) -> None:
        """End it and remove its files."""
        self.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._scratch.close()
