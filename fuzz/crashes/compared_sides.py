"""Differences of two parsers in environments of their own, as findings.

The key insight: which side is right plays no part, so what is found is named by the two libraries,
the effect for the code behind them, and what the document holds; a reduction may shed the last.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path

from wirefence.fuzz.compare.classes import EFFECTS, MESSAGE, effect_of, why
from wirefence.fuzz.compare.sides import Team, team
from wirefence.fuzz.compare.traits import traits
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.targets.environments import Observation, Side, prepare

__all__ = ["differences", "keep", "versions_of"]


@lru_cache(maxsize=16)
def _side(spec: str, python: str, cache: Path | None) -> Side:
    return prepare(spec, python=python or None, cache=cache)


def _sides(
    specs: tuple[str, ...], options: Mapping[str, str], cache: Path | None = None
) -> list[Side]:
    """The two sides, ready to work. Raises TargetError for what cannot be had, UsageError."""
    if len(specs) != 2:
        raise UsageError(f"a difference has two sides, not {len(specs)}", "name OLD and NEW")
    return [_side(spec, options.get("python", ""), cache) for spec in specs]


def versions_of(
    specs: tuple[str, ...], options: Mapping[str, str], cache: Path | None = None
) -> dict[str, str]:
    """What each side came to: library, version and interpreter."""
    sides = _sides(specs, options, cache)
    return dict(zip(("old", "new"), (side.label for side in sides), strict=True))


@lru_cache(maxsize=4)
def _team(specs: tuple[str, ...], python: str, cache: Path | None) -> Team:
    # The processes end with this one, or with the pipe that it held.
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(team(_sides(specs, {"python": python}, cache), 0))


def differences(
    raw: bytes,
    specs: tuple[str, ...],
    options: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> list[Finding]:
    """How two sides differ over one document: a finding for each effect, none for messages alone.

    ``options`` may name the interpreter (``python``) and one ``form`` of reading (``bytes``,
    ``str``, ...); else all forms that both have are tried. ``cache`` is the folder of environments.
    Raises TargetError, UsageError.
    """
    said = options or {}
    both = _team(specs, said.get("python", ""), cache)
    forms = [each.name for each in both.forms if said.get("form", each.name) == each.name]
    if not forms:
        raise UsageError(f"no form {said['form']!r} is common to both sides", "leave it out")
    look = both.pair(0, 1)
    found = (_difference(raw, specs, *look([raw], form)[0]) for form in forms)
    return list({each.signature: each for each in found if each}.values())


def _difference(
    raw: bytes, specs: tuple[str, ...], old: Observation, new: Observation
) -> Finding | None:
    effect = effect_of(old, new)
    if effect in ("", MESSAGE):
        return None
    assert effect in EFFECTS
    held = traits(raw)
    errors = f"{old.error or old.kind} -> {new.error or new.kind}"
    kind = f"{errors}: {'+'.join(sorted(held)) or 'any'}"
    target = " to ".join(specs)
    signature = f"{target}|compare|{effect}|{kind}"
    return Finding("compare", effect, target, signature, why(effect, held, *specs))


def keep(
    raws: Iterable[bytes],
    specs: tuple[str, ...],
    python: str,
    store: Store,
    cache: Path | None = None,
) -> int:
    """Put what documents show of two sides into a store; return how many findings those are.

    ``cache`` is the folder of environments; it is not kept, for each machine has its own.

    Raises UsageError where it cannot be written, TargetError for a side that cannot be had.
    """
    options = {"python": python} if python else {}
    kept = set()
    for raw in raws:
        for found in differences(raw, specs, options, cache):
            versions = versions_of(specs, options, cache)
            case = case_from_bytes(raw)
            kept.add(store.save(found, case, versions=versions, options=options, sides=specs))
    return len(kept)
