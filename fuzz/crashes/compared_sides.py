"""Differences of two parsers in their own environments, as findings.

Which side is right plays no part. So a finding is named by the two libraries, the effect with what
each side said, and the first trait of the document.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from wirefence.fuzz.compare.classes import EFFECTS, MESSAGE, effect_of, explain_effect
from wirefence.fuzz.compare.repetitions import find_input_traits
from wirefence.fuzz.compare.sides import Team, start_team
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.agreement import make_difference
from wirefence.oracles.records import Finding
from wirefence.targets.environments import Observation, Side, prepare_side

__all__ = ["find_differences", "find_versions", "save_differences"]


@lru_cache(maxsize=16)
def _prepare_side(spec: str, python: str, cache: Path | None) -> Side:
    return prepare_side(spec, python=python or None, cache=cache)


def _prepare_sides(
    specs: tuple[str, ...], options: Mapping[str, str], cache: Path | None = None
) -> list[Side]:
    """Return the two sides, prepared. Raises TargetError if one cannot be prepared, UsageError."""
    if len(specs) != 2:
        raise UsageError(f"a difference has two sides, not {len(specs)}", "name OLD and NEW")
    return [_prepare_side(spec, options.get("python", ""), cache) for spec in specs]


def find_versions(
    specs: tuple[str, ...], options: Mapping[str, str], cache: Path | None = None
) -> dict[str, str]:
    """Return library, version and interpreter of each side."""
    sides = _prepare_sides(specs, options, cache)
    return dict(zip(("old", "new"), (side.label for side in sides), strict=True))


@lru_cache(maxsize=4)
def _start_team(specs: tuple[str, ...], python: str, cache: Path | None) -> Team:
    # The processes exit with this one, or when its pipe is closed.
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(start_team(_prepare_sides(specs, {"python": python}, cache), 0))


def find_differences(
    raw: bytes,
    specs: tuple[str, ...],
    options: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> list[Finding]:
    """Return how two sides differ on one document: a finding for each effect, none for messages.

    ``options`` may name the interpreter (``python``) and one ``form`` (``bytes``, ``str``, ...);
    else all forms that both have are tried. ``cache`` is the folder of environments. Raises
    TargetError, UsageError.
    """
    said = options or {}
    both = _start_team(specs, said.get("python", ""), cache)
    forms = [each.name for each in both.forms if said.get("form", each.name) == each.name]
    if not forms:
        raise UsageError(f"no form {said['form']!r} is common to both sides", "leave it out")
    look = both.make_look(0, 1)
    found = (_make_finding(raw, specs, *look([raw], form)[0]) for form in forms)
    return list({each.signature: each for each in found if each}.values())


def _make_finding(
    raw: bytes, specs: tuple[str, ...], old: Observation, new: Observation
) -> Finding | None:
    effect = effect_of(old, new)
    if effect in ("", MESSAGE):
        return None
    assert effect in EFFECTS
    held = find_input_traits(raw)
    outcomes = f"{old.error or old.kind} -> {new.error or new.kind}"
    summary = explain_effect(effect, held, *specs)
    return make_difference(" to ".join(specs), effect, outcomes, held, summary)


def save_differences(
    raws: Iterable[bytes],
    specs: tuple[str, ...],
    python: str,
    store: Store,
    cache: Path | None = None,
) -> int:
    """Save what documents show for two sides to a store; return the number of findings.

    ``cache`` is the folder of environments; it is not stored, since each machine has its own.

    Raises UsageError if it cannot be written, TargetError if a side cannot be prepared.
    """
    options = {"python": python} if python else {}
    kept = set()
    for raw in raws:
        for found in find_differences(raw, specs, options, cache):
            versions = find_versions(specs, options, cache)
            case = case_from_bytes(raw)
            kept.add(
                store.save_finding(found, case, versions=versions, options=options, sides=specs)
            )
    return len(kept)
