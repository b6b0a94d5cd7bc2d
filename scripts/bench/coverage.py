"""Figures of coverage-guided fuzzing, side by side with libFuzzer's own byte mutator.

Both columns are the same target, the same time and an empty corpus; the only
difference is who mutates. Rates are per second of CPU time, since machines are shared.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from wirefence.fuzz.coverage.process import FuzzProcess, Job
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.targets.command.proc_files import read_stat

__all__ = ["Figures", "as_table", "measure"]

PARSERS = ("orjson", "msgspec")
_TICK = 0.2


@dataclass(frozen=True, slots=True)
class Figures:
    """One run. ``cpu`` is CPU seconds from the first input on; ``calls`` are inputs with an
    accepted call.
    """

    target: str
    mutator: str
    executions: int
    valid: int
    calls: int
    edges: int
    corpus: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        """Inputs in a second of CPU time."""
        return self.executions / self.cpu if self.cpu else 0.0

    @property
    def share(self) -> float:
        """The part of inputs that were JSON."""
        return self.valid / self.executions if self.executions else 0.0


def measure(seconds: float = 60.0) -> list[Figures]:
    """Run ``fuzz_parsers`` with two parsers and ``fuzz_gateway`` under either mutator."""
    return [
        _measure_mutator(name, targets, seconds, plain=plain)
        for name, targets in (("fuzz_parsers", PARSERS), ("fuzz_gateway", ("gateway",)))
        for plain in (False, True)
    ]


def _read_cpu_seconds(pid: int) -> float:
    """CPU seconds of a running process."""
    return sum(map(int, read_stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def _measure_mutator(
    name: str, targets: tuple[str, ...], seconds: float, *, plain: bool
) -> Figures:
    with tempfile.TemporaryDirectory(prefix="wirefence-") as folder:
        orders = TargetSettings(str(Path(folder) / "out"), "", targets, plain=plain)
        process = FuzzProcess(Job(name, orders, Path(folder) / "corpus"))
        try:
            while process.read_progress().sighting.begun == 0 and process.code is None:
                time.sleep(_TICK)
            begun, before = time.monotonic(), _read_cpu_seconds(process.pid)
            while time.monotonic() - begun < seconds and process.code is None:
                time.sleep(_TICK)
            cpu, seen = _read_cpu_seconds(process.pid) - before, process.read_progress()
        finally:
            process.close()
    return Figures(
        name,
        "bytes" if plain else "tree",
        seen.sighting.ended,
        seen.sighting.valid,
        seen.sighting.calls,
        seen.edges,
        seen.corpus,
        seconds,
        cpu,
    )


def as_table(rows: list[Figures]) -> str:
    """Figures for people: a column for each run."""
    columns = [
        (
            f"{row.target} {row.mutator}",
            f"{row.executions:,}",
            f"{row.rate:,.0f}",
            f"{row.share:.0%}",
            f"{row.calls:,}",
            f"{row.edges:,}",
            f"{row.corpus:,}",
        )
        for row in rows
    ]
    names = (
        *("", "inputs", "inputs/s of CPU", "JSON", "sessions with an accepted call"),
        *("edges (and behaviours)", "corpus"),
    )
    lines = [
        f"{name:<32}" + "".join(f"{column[at]:>22}" for column in columns)
        for at, name in enumerate(names)
    ]
    return "\n".join(lines)
