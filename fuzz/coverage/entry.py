"""What every libFuzzer file does first: instrument what is under test, then import it.

The key insight: atheris sees only modules that are imported while it watches, so nothing of ours
that reaches a target may be imported before; this module knows names and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["UNDER_TEST", "main", "under_test"]

UNDER_TEST: dict[str, tuple[str, ...]] = {
    "fuzz_parsers": ("targets", "simplejson", "json"),
    "fuzz_gateway": ("targets",),
    "fuzz_session": ("targets",),
    "fuzz_judge": ("targets", "oracles"),
    "fuzz_transcript": ("targets", "oracles"),
}
"""For each libFuzzer target the packages whose edges guide it, beside the targets named.

Atheris takes whole top-level packages; what is in them and not under test is left out by name.
"""

_ALWAYS = {"targets", "oracles"}
_OURS = (
    *("targets.errors", "targets.harness", "targets.recorder", "targets.records"),
    *("targets.parsers", "targets.parsers.canonical", "targets.parsers.configs"),
    *("targets.parsers.outcomes", "targets.parsers.worker", "targets.parsers.typed"),
    *("targets.planted.records", "targets.planted.registry"),
    *("oracles.agreement", "oracles.features", "oracles.quirks", "oracles.records"),
    *("oracles.rules", "oracles.effects", "oracles.liveness", "oracles.state"),
)


def main(file: str) -> NoReturn:
    """Run the libFuzzer target whose executable is ``file``; its name is the target's."""
    path = Path(file).resolve()
    atheris = _atheris()
    from fuzz.coverage.orders import orders  # noqa: PLC0415 - it imports no target

    given = orders()
    include = [*under_test(path.stem, given.targets), *filter(None, map(_module, given.targets))]
    with atheris.instrument_imports(include, exclude=list(_OURS)):
        run: Any = import_module("fuzz.coverage.run")
    errors: Any = import_module("fuzz.errors"), import_module("targets.errors")
    try:
        run.fuzz(atheris, path, path.stem, sys.argv[1:], given)
    except (errors[0].UsageError, errors[1].TargetError) as error:
        _complain(error.cause, error.hint)
    raise AssertionError("libFuzzer ends the process")


def under_test(name: str, targets: Sequence[str]) -> tuple[str, ...]:
    """The packages whose edges guide the libFuzzer target ``name`` over ``targets``.

    A library that none of them is stays as it is: orjson raises the errors of ``json``, so edges
    there would cost every refused input some microseconds and say nothing of orjson.
    """
    named = {target.partition("[")[0] for target in targets}
    if not targets or "parsers" in named:
        return UNDER_TEST[name]
    return tuple(each for each in UNDER_TEST[name] if each in named | _ALWAYS)


def _module(target: str) -> str:
    """The package of a target named ``package.module:factory``, which is under test as well."""
    module = target.partition(":")[0]
    return module if ":" in target and module != "planted" else ""


def _atheris() -> Any:
    try:
        return import_module("atheris")
    except ImportError:
        _complain("atheris is not installed", "it has wheels for Linux on x86-64 only")


def _complain(cause: str, hint: str) -> NoReturn:
    print(f"wirefence: {cause}; {hint}", file=sys.stderr)  # noqa: T201 - no click here
    sys.exit(2)
