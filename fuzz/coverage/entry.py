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

_TARGETS, _ORACLES = "wirefence.targets", "wirefence.oracles"
UNDER_TEST: dict[str, tuple[str, ...]] = {
    "fuzz_parsers": (_TARGETS, "simplejson", "json"),
    "fuzz_gateway": (_TARGETS,),
    "fuzz_session": (_TARGETS,),
    "fuzz_judge": (_TARGETS, _ORACLES),
    "fuzz_transcript": (_TARGETS, _ORACLES),
}
"""For each libFuzzer target the packages whose edges guide it, beside the targets named.

Atheris takes whole top-level packages; what is in them and not under test is left out by name.
"""

_ALWAYS = {_TARGETS, _ORACLES}
_OURS = tuple(
    f"wirefence.{name}"
    for name in (
        *("targets.errors", "targets.harness", "targets.recorder", "targets.records"),
        *("targets.parsers", "targets.parsers.canonical", "targets.parsers.configs"),
        *("targets.parsers.outcomes", "targets.parsers.worker", "targets.parsers.typed"),
        *("targets.planted.records", "targets.planted.registry"),
        *("oracles.agreement", "oracles.features", "oracles.quirks", "oracles.records"),
        *("oracles.rules", "oracles.effects", "oracles.liveness", "oracles.state"),
    )
)


def main(file: str) -> NoReturn:
    """Run the libFuzzer target whose executable is ``file``; its name is the target's."""
    path = Path(file).resolve()
    from wirefence.fuzz.coverage.target_settings import orders  # noqa: PLC0415 - it imports no target
    from wirefence.fuzz.extras import require_extra  # noqa: PLC0415 - nor does it

    errors: Any = import_module("wirefence.fuzz.errors"), import_module("wirefence.targets.errors")
    try:
        require_extra("coverage", path.stem)
        atheris, given = import_module("atheris"), orders()
        include = [*under_test(path.stem, given.targets)]
        include += filter(None, map(_module, given.targets))
        packages = {name.partition(".")[0] for name in include}
        with atheris.instrument_imports(packages, exclude=[*_OURS, *_modules_outside(include)]):
            run: Any = import_module("wirefence.fuzz.coverage.run_target")
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


def _modules_outside(include: Sequence[str]) -> list[str]:
    """Our modules that are in none of the packages ``include``."""
    root = Path(__file__).resolve().parents[2]
    found = []
    for package in ("strategies", "targets", "oracles", "fuzz"):
        paths = (root / package).rglob("*.py")
        parts = (("wirefence", *path.relative_to(root).with_suffix("").parts) for path in paths)
        found += [".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts]
    inside = tuple(f"{name}." for name in include)
    return ["wirefence", *(name for name in found if not f"{name}.".startswith(inside))]


def _module(target: str) -> str:
    """The package of a target named ``package.module:factory``, which is under test as well."""
    module = target.partition(":")[0]
    return module if ":" in target and module != "planted" else ""


def _complain(cause: str, hint: str) -> NoReturn:
    print(f"wirefence: {cause}; {hint}", file=sys.stderr)  # noqa: T201 - no click here
    sys.exit(2)
