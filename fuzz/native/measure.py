"""Edges and execs/s of each instrumented library, from a short run of the fuzzer over it.

LibFuzzer's own last line has the counts, and a count of nearly nothing would
mean that the copy is not instrumented, so the figures are also the proof.
"""

from __future__ import annotations

import os
import random
import re
import resource
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.build import Native
from wirefence.fuzz.native.toolchain import find_failure, run_tool
from wirefence.strategies.json_text import json_text
from wirefence.strategies.source import RandomSource

__all__ = ["Measured", "measure_libraries"]

_SEEDS = 200
_DONE = re.compile(r"^#(\d+)\s+DONE\s+cov: (\d+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Measured:
    """One library's figures: ``edges`` covered, inputs run, inputs for each second of CPU time."""

    name: str
    version: str
    edges: int
    runs: int
    rate: int


def measure_libraries(native: Native, *, seconds: int = 5) -> Iterator[Measured]:
    """Fuzz each built library for so many seconds from seeds of the grammar. Raises UsageError."""
    env = os.environ | native.env
    root = str(Path(__file__).absolute().parents[3])
    env["PYTHONPATH"] = f"{native.env['PYTHONPATH']}{os.pathsep}{root}"
    for name in native.names:
        with tempfile.TemporaryDirectory() as work:
            _write_seeds(Path(work))
            begun = _read_cpu_seconds()
            done = run_tool(
                [
                    *(sys.executable, "-m", "wirefence.fuzz.native.exercise", name),
                    *(f"-max_total_time={seconds}", "-verbosity=1", f"-artifact_prefix={work}/"),
                    str(Path(work) / "corpus"),
                ],
                env=env,
                seconds=60 + 10 * seconds,
            )
        yield _read_figures(name, native, done.stdout, _read_cpu_seconds() - begun)


def _write_seeds(work: Path) -> None:
    folder = work / "corpus"
    folder.mkdir()
    source = RandomSource(random.Random(0))
    for number in range(_SEEDS):
        (folder / f"{number:03}").write_bytes(json_text(source))


def _read_cpu_seconds() -> float:
    """CPU seconds of all children so far: on a shared machine, wall time measures the others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_figures(name: str, native: Native, said: str, spent: float) -> Measured:
    found = _DONE.search(said)
    if found is None:
        raise UsageError(
            f"the fuzzer did not end well on {name}: {find_failure(said)}",
            f"run python -m wirefence.fuzz.native.exercise {name} in the environment of prepare()",
        )
    runs, edges = map(int, found.groups())
    return Measured(name, native.versions[name], edges, runs, round(runs / spent))
