"""Merging corpora: libFuzzer's own merge, held to what it promises.

The key insight: a merge that did nothing exits with 0 like one that worked. So what the merged
corpus covers is measured, and where that is less than what went in, all inputs are kept instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wirefence.fuzz.coverage.process import Job, executable
from wirefence.fuzz.coverage.target_settings import environment
from wirefence.fuzz.errors import UsageError
from wirefence.targets.errors import TargetError

__all__ = ["Merged", "add_all", "covered", "merge", "prepare"]

_INITED = re.compile(r"^#\d+\t(?:INITED|DONE)\s+cov: (\d+)", re.MULTILINE)
_PATIENCE = 600.0


def prepare(corpus: Path) -> None:
    """Make the folder of a corpus and try to write there. Raises UsageError where that fails."""
    try:
        corpus.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=corpus).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"cannot write to the corpus {corpus}: {reason}", "choose another --corpus"
        ) from error


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge: edges that went in, edges that came out, files before and after.

    ``kept`` is true where libFuzzer's choice covered less, and every input was kept.
    """

    edges_in: int
    edges_out: int
    before: int
    after: int
    kept: bool

    def sentence(self) -> str:
        """What happened, for people."""
        how = "all kept, as a choice covered less" if self.kept else "those that cover something"
        return (
            f"merged: {self.after - self.before} inputs added ({how}), "
            f"{self.edges_out} of {self.edges_in} edges"
        )


def _call(job: Job, flags: Sequence[str], folders: Iterable[Path]) -> str:
    orders = replace(job.orders, marker="")
    ran = subprocess.run(  # noqa: S603 - our own target in our own interpreter
        [sys.executable, str(executable(job.name)), *flags, *map(str, folders)],
        env={**os.environ, **job.variables, **environment(orders)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE,
        check=False,
    )
    log = ran.stderr.decode(errors="replace")
    if ran.returncode:
        said = log.strip().splitlines() or [""]
        raise TargetError(f"{job.name} failed ({said[-1]})", "try its file by itself")
    return log


def covered(job: Job, folders: Sequence[Path]) -> int:
    """Edges that the inputs in ``folders`` cover together. Raises TargetError."""
    found = _INITED.findall(_call(job, ("-runs=0", "-seed=1"), folders))
    if not found:
        raise TargetError(f"{job.name} ran no input", "try its file by itself")
    return int(found[-1])


def merge(job: Job, sources: Sequence[Path]) -> Merged:
    """Add to the job's corpus the inputs of ``sources`` that cover something new.

    Afterwards the corpus covers what all of them covered. Raises TargetError and
    UsageError.
    """
    corpus = job.corpus
    prepare(corpus)
    before = _count(corpus)
    edges_in = covered(job, (corpus, *sources))
    _call(job, ("-merge=1",), (corpus, *sources))
    edges_out, kept = covered(job, (corpus,)), False
    if edges_out < edges_in:
        add_all(corpus, sources)
        edges_out, kept = covered(job, (corpus,)), True
    return Merged(edges_in, edges_out, before, _count(corpus), kept)


def _count(folder: Path) -> int:
    return sum(1 for path in folder.iterdir() if path.is_file())


def add_all(corpus: Path, sources: Iterable[Path]) -> None:
    """Add every file of ``sources`` under libFuzzer's name for it, the SHA-1 of its content."""
    for source in sources:
        for path in sorted(source.rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                name = hashlib.sha1(content, usedforsecurity=False).hexdigest()
                (corpus / name).write_bytes(content)
