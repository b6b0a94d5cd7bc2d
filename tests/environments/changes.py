"""Verified behaviour changes between versions of parsers, shown through workers.

Run as ``python -m tests.environments.changes [PATH OF changes.json]`` for all of them: each entry's
input goes to its old and its new version, and both outcomes must be those that the entry tells.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wirefence.targets.environments import Observation, Side, prepare_side
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.canonical import decode_value

_OPTIONS = {"py": "[pure]", "any": "[any]"}
_LENGTH = re.compile(r"b'(.).*' len=(\d+)$")


@dataclass(frozen=True, slots=True)
class Change:
    """One entry: what to compare, on which input, with what is to be seen on both sides."""

    old: str
    new: str
    python: str | None
    raw: bytes
    told: tuple[str, str]

    @property
    def label(self) -> str:
        return f"{self.old} -> {self.new}, {self.raw[:30]!r} ({len(self.raw)} bytes)"


def changes(path: Path) -> Iterator[Change]:
    for entry in json.loads(path.read_bytes()):
        told = (entry["old_outcome"], entry["new_outcome"])
        raw = _input(entry.get("input_hex"), entry["input_desc"], told[0])
        if "CPython" in entry["pkg"]:
            yield Change(f"python:{entry['old']}", f"python:{entry['new']}", None, raw, told)
            continue
        name = entry["pkg"] + _OPTIONS.get(entry["config"], "")
        yield Change(
            f"{name}=={entry['old']}", f"{name}=={entry['new']}", entry["python"], raw, told
        )


def _input(hexed: str | None, description: str, told: str) -> bytes:
    """The input; a long one is told by its beginning, its length and what it came to."""
    if hexed is not None:
        return bytes.fromhex(hexed)
    found = _LENGTH.match(description)
    assert found is not None, description
    first, size = found.group(1).encode(), int(found.group(2))
    if first == b"[":
        return b"[" * (size // 2) + b"]" * (size // 2)
    if told.startswith("f:"):  # a fraction that brings so many digits back to one
        return first * (size - 8) + f".0e-{size - 9}".encode()
    return first * size


def as_told(told: str, seen: Observation) -> bool:
    """Whether an outcome is the one that an entry tells in its own notation."""
    if told.startswith("C-"):
        return seen.kind == "death" and seen.error == "SIGSEGV"
    if told.startswith("E:"):
        return seen.kind in ("reject", "escape") and seen.error == told[2:]
    if seen.kind != "accept":
        return False
    if told.startswith("[["):
        return seen.value.startswith(b"[\x01\x00\x00\x00" * 100)
    return _told(decode_value(seen.value)).startswith(told)


def _told(value: object) -> str:
    if isinstance(value, dict):
        return "{" + "".join(f"{k!a}:{_told(v)}," for k, v in value.items()) + "}"
    if isinstance(value, int):
        return f"i:{value}" if value.bit_length() < 10_000 else f"i:hex{value:#x}"
    return f"f:{value!r}" if isinstance(value, float) else ascii(value)


def shown(change: Change) -> tuple[bool, str]:
    """Whether both outcomes are as told, and what was seen in words."""
    seen = [
        _seen(prepare_side(spec, python=change.python), change.raw)
        for spec in (change.old, change.new)
    ]
    good = all(as_told(told, one) for told, one in zip(change.told, seen, strict=True))
    words = " / ".join(f"{one.kind} {one.error or one.value[:20]!r}" for one in seen)
    return good, words


def _seen(side: Side, raw: bytes) -> Observation:
    with side.worker() as worker:
        return worker.outcomes([raw])[0]


def main() -> int:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/versions/changes.json")
    bad = 0
    for change in changes(path):
        try:
            good, words = shown(change)
        except TargetError as error:
            good, words = False, str(error)
        bad += not good
        print("ok " if good else "BAD", change.label, "|", words, flush=True)  # noqa: T201 - the report
        if not good:
            print("    told:", *change.told)  # noqa: T201 - the report
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
