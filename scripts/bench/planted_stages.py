"""Which planted faults each libFuzzer target has to find, and the loop that looks for one.

A target that cannot find a known fault of its stage will not find an unknown one,
so the zoo is the yardstick of mutator and checks. The loop is libFuzzer's without the process: it
keeps what behaves in a new way, from an empty corpus, and counts inputs instead of seconds, which
means the same on a busy machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wirefence.fuzz.coverage.checks import NAMES, Name, make_check
from wirefence.fuzz.coverage.mutator import Mutator
from wirefence.targets.planted import PLANTED, Planted

__all__ = ["BUDGET", "OUT_OF_REACH", "Hunt", "as_table", "hunt", "stages_of", "sweep"]

BUDGET: dict[Name, int] = {
    "fuzz_parsers": 240_000,
    "fuzz_gateway": 36_000,
    "fuzz_session": 18_000,
    "fuzz_judge": 18_000,
    "fuzz_transcript": 18_000,
}
"""Inputs that each target runs in 60 s of CPU time at the least: what a hunt may use."""

_READING = (
    *("decode", "parse", "loads", "hooks", "check_depth", "members", "integer", "real"),
    *("constant", "check_surrogates"),
)
_STREAM = ("feed", "split", "keep", "eof")
_LARGEST = 4_096
_BASE = "planted:healthy"
_CUT_ONLY = ("loses-split-frames", "acts-before-line-feed", "acts-after-close")
"""What shows only where the bytes of a session come in more than one piece."""

OUT_OF_REACH = "buffers-without-bound"
"""A frame of more than a MiB, where libFuzzer's inputs have a few KiB: campaigns find it."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """A hunt for one fault: inputs run, and the rules of the first finding; none: it was missed."""

    name: Name
    fault: str
    inputs: int
    rules: tuple[str, ...]


def stages_of(fault: Planted) -> tuple[Name, ...]:
    """The libFuzzer targets in whose stage ``fault`` is, none for :data:`OUT_OF_REACH`.

    Readers of one document: what replaces a hook of the reading half. One session under ``close``:
    what shows there in one piece. Several frames, cuts, both policies: what shows after a rejected
    frame, or is about the stream. The judge against the gateway: what acts otherwise than judged.
    The transcript: what stdout alone gives away.
    """
    if fault.name == OUT_OF_REACH:
        return ()
    hooks = vars(fault.factory)
    act = any(rule.startswith("act-") for rule in fault.breaks)
    cut = fault.name in _CUT_ONLY
    is_in: dict[Name, bool] = {
        "fuzz_parsers": any(hook in hooks for hook in _READING),
        "fuzz_gateway": fault.policy == "close" and not cut,
        "fuzz_session": fault.policy == "continue" or any(hook in hooks for hook in _STREAM),
        "fuzz_judge": act and not cut,
        "fuzz_transcript": all(rule.startswith("out-") for rule in fault.breaks),
    }
    return tuple(name for name in NAMES if is_in[name])


def hunt(name: Name, fault: str, budget: int = 0, seed: int = 1) -> Hunt:
    """Mutate from an empty corpus until the planted ``fault`` shows, for ``budget`` inputs at most.

    It shows where something is found that the healthy base does not show for the same input. Equal
    seeds give equal hunts. Raises UsageError for a fault that is none.
    """
    seen: set[Any] = set()
    news: list[Any] = []

    def note(behaviour: Any) -> None:
        if behaviour not in seen:
            seen.add(behaviour)
            news.append(behaviour)

    check, healthy = (
        make_check(name, [f"planted:{fault}"], note),
        make_check(name, [_BASE], _do_nothing),
    )
    source, corpus = random.Random(seed), [b"\n"]
    mutator = Mutator(check.form, _make_scrambler(source), seed=seed)
    most = budget or BUDGET[name]
    for number in range(1, most + 1):
        made = mutator.cross_inputs(source.choice(corpus), source.choice(corpus), _LARGEST)
        news.clear()
        found = {each.rule for each in check(made)}
        if found and (shown := found - {each.rule for each in healthy(made)}):
            return Hunt(name, fault, number, tuple(sorted(shown)))
        if news:
            corpus.append(made)
    return Hunt(name, fault, most, ())


def _do_nothing(_: Any) -> None:
    """The base guides nobody."""


def _make_scrambler(source: random.Random) -> Any:
    """The least of what libFuzzer's byte mutator does: one byte becomes another."""

    def scramble(data: bytes, most: int) -> bytes:
        raw = bytearray(data or b"\n")
        raw[source.randrange(len(raw))] = source.randrange(256)
        return bytes(raw[:most])

    return scramble


def sweep(names: tuple[Name, ...] = NAMES, seed: int = 1) -> Iterator[Hunt]:
    """Hunt for every planted fault in every stage that it is in."""
    for fault in PLANTED:
        for name in stages_of(fault):
            if name in names:
                yield hunt(name, fault.name, seed=seed)


def as_table(hunts: list[Hunt]) -> str:
    """One line for each hunt, and one for all."""
    lines = [
        f"{each.fault:<34}{each.name:<18}{each.inputs:>9,}  {' '.join(each.rules) or 'NOT FOUND'}"
        for each in hunts
    ]
    missed = sum(not each.rules for each in hunts)
    return "\n".join([*lines, f"{len(hunts) - missed} of {len(hunts)} found"])
