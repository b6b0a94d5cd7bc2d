"""Entry point of every libFuzzer file: instrument what is under test, then import it.

atheris instruments only modules that are imported while it is active. So this module imports no
module of Wirefence that reaches a target.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["UNDER_TEST", "choose_packages", "main"]

_TARGETS, _ORACLES = "wirefence.targets", "wirefence.oracles"
UNDER_TEST: dict[str, tuple[str, ...]] = {
    "fuzz_parsers": (_TARGETS, "simplejson", "json"),
    "fuzz_gateway": (_TARGETS,),
    "fuzz_session": (_TARGETS,),
    "fuzz_judge": (_TARGETS, _ORACLES),
    "fuzz_transcript": (_TARGETS, _ORACLES),
}
"""For each libFuzzer target, the packages whose edges guide it, in addition to named targets.

atheris instruments whole top-level packages; modules in them that are not under test are excluded
by name.
"""

_ALWAYS = {_TARGETS, _ORACLES}
_OURS = tuple(
    f"wirefence.{name}"
    for name in (
        *("targets.errors", "targets.harness", "targets.recorder", "targets.records"),
        *("targets.parsers", "targets.parsers.canonical", "targets.parsers.configs"),
        *("targets.parsers.outcomes", "targets.parsers.worker", "targets.parsers.typed"),
        *("targets.planted.records", "targets.planted.registry"),
        *("oracles.agreement", "oracles.quirks", "oracles.records", "oracles.traits"),
        *("oracles.rules", "oracles.effects", "oracles.liveness", "oracles.state"),
    )
)


def main(file: str) -> NoReturn:
    """Run the libFuzzer target whose executable is ``file``; the file name is the target's name."""
    path = Path(file).resolve()
    from wirefence.fuzz.coverage.target_settings import read_settings  # noqa: PLC0415 - it imports no target
    from wirefence.fuzz.extras import require_extra  # noqa: PLC0415 - nor does it

    errors: Any = import_module("wirefence.fuzz.errors"), import_module("wirefence.targets.errors")
    try:
        require_extra("coverage", path.stem)
        atheris, given = import_module("atheris"), read_settings()
        include = [*choose_packages(path.stem, given.targets)]
        include += filter(None, map(_find_package, given.targets))
        packages = {name.partition(".")[0] for name in include}
        with atheris.instrument_imports(
            packages, exclude=[*_OURS, *_list_modules_outside(include)]
        ):
            run: Any = import_module("wirefence.fuzz.coverage.run_target")
        run.run_libfuzzer(atheris, path, path.stem, sys.argv[1:], given)
    except (errors[0].UsageError, errors[1].TargetError) as error:
        _exit_with_error(error.cause, error.hint)
    raise AssertionError("libFuzzer ends the process")


def choose_packages(name: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the packages whose edges guide the libFuzzer target ``name`` with ``targets``.

    A library that is not among ``targets`` is not instrumented: orjson raises the errors of
    ``json``, so edges there would cost some microseconds for each rejected input and show nothing
    of orjson.
    """
    named = {target.partition("[")[0] for target in targets}
    if not targets or "parsers" in named:
        return UNDER_TEST[name]
    return tuple(each for each in UNDER_TEST[name] if each in named | _ALWAYS)


def _list_modules_outside(include: Sequence[str]) -> list[str]:
    """Return the modules of Wirefence that are in none of the packages ``include``."""
    root = Path(__file__).resolve().parents[2]
    found = []
    for package in ("strategies", "targets", "oracles", "fuzz"):
        paths = (root / package).rglob("*.py")
        parts = (("wirefence", *path.relative_to(root).with_suffix("").parts) for path in paths)
        found += [".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts]
    inside = tuple(f"{name}." for name in include)
    return ["wirefence", *(name for name in found if not f"{name}.".startswith(inside))]


def _find_package(target: str) -> str:
    """Return the module of a target named ``package.module:factory``, which is under test as
    well.
    """
    module = target.partition(":")[0]
    return module if ":" in target and module != "planted" else ""


def _exit_with_error(cause: str, hint: str) -> NoReturn:
    print(f"wirefence: {cause}; {hint}", file=sys.stderr)  # noqa: T201 - no click here
    sys.exit(2)
