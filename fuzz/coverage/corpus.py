"""Merge corpora with libFuzzer, and verify the result.

A merge that did nothing exits with 0 like one that worked. So the coverage of the merged corpus is
measured; if it is less than before, all inputs are kept instead.
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

from wirefence.fuzz.coverage.process import Job, find_executable
from wirefence.fuzz.coverage.target_settings import encode_settings
from wirefence.fuzz.errors import UsageError
from wirefence.targets.errors import TargetError

__all__ = [
    "MergeResult",
    "add_all_inputs",
    "count_covered_edges",
    "merge_corpora",
    "prepare_corpus",
]

_INITED = re.compile(r"^#\d+\t(?:INITED|DONE)\s+cov: (\d+)", re.MULTILINE)
_PATIENCE = 600.0
"""Seconds that a merge may take; large corpora need minutes."""


def prepare_corpus(corpus: Path) -> None:
    """Create a corpus folder and try to write there. Raises UsageError if that fails."""
    try:
        corpus.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=corpus).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"cannot write to the corpus {corpus}: {reason}", "choose another --corpus"
        ) from error


@dataclass(frozen=True, slots=True)
class MergeResult:
    """A merge: edges before and after, files before and after.

    ``kept`` is true if libFuzzer's selection covered less, and every input was kept.
    """

    edges_in: int
    edges_out: int
    before: int
    after: int
    kept: bool

    def describe(self) -> str:
        """Return one sentence that describes the merge."""
        how = "all, since a selection covered less" if self.kept else "those with new coverage"
        return (
            f"merged: {self.after - self.before} inputs added ({how}), "
            f"{self.edges_out} of {self.edges_in} edges"
        )


def _run_target(job: Job, flags: Sequence[str], folders: Iterable[Path]) -> str:
    orders = replace(job.orders, marker="")
    ran = subprocess.run(  # noqa: S603 - our own target in our own interpreter
        [sys.executable, str(find_executable(job.name)), *flags, *map(str, folders)],
        env={**os.environ, **job.variables, **encode_settings(orders)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE,
        check=False,
    )
    log = ran.stderr.decode(errors="replace")
    if ran.returncode:
        said = log.strip().splitlines() or [""]
        raise TargetError(f"{job.name} failed ({said[-1]})", "run its file directly")
    return log


def count_covered_edges(job: Job, folders: Sequence[Path]) -> int:
    """Return how many edges the inputs in ``folders`` cover together. Raises TargetError."""
    found = _INITED.findall(_run_target(job, ("-runs=0", "-seed=1"), folders))
    if not found:
        raise TargetError(f"{job.name} ran no input", "run its file directly")
    return int(found[-1])


def merge_corpora(job: Job, sources: Sequence[Path]) -> MergeResult:
    """Add the inputs of ``sources`` with new coverage to the job's corpus.

    Afterwards the corpus covers what all of them covered. Raises TargetError and UsageError.
    """
    corpus = job.corpus
    prepare_corpus(corpus)
    before = _count_files(corpus)
    edges_in = count_covered_edges(job, (corpus, *sources))
    _run_target(job, ("-merge=1",), (corpus, *sources))
    edges_out, kept = count_covered_edges(job, (corpus,)), False
    if edges_out < edges_in:
        add_all_inputs(corpus, sources)
        edges_out, kept = count_covered_edges(job, (corpus,)), True
    return MergeResult(edges_in, edges_out, before, _count_files(corpus), kept)


def _count_files(folder: Path) -> int:
    return sum(1 for path in folder.iterdir() if path.is_file())


def add_all_inputs(corpus: Path, sources: Iterable[Path]) -> None:
    """Add every file of ``sources``, named by the SHA-1 of its content as libFuzzer does."""
    for source in sources:
        for path in sorted(source.rglob("*")):
            if path.is_file():
                content = path.read_bytes()
                name = hashlib.sha1(content, usedforsecurity=False).hexdigest()
                (corpus / name).write_bytes(content)
