"""What every libFuzzer file does first: instrument what is under test, then import it.

The key insight: atheris sees only modules that are imported while it watches, so nothing of ours
that reaches a target may be imported before; this module knows names and no more.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["UNDER_TEST", "main"]

UNDER_TEST: dict[str, tuple[str, ...]] = {
    "fuzz_parsers": ("targets.parsers.prescan", "simplejson", "json", "targets.planted"),
    "fuzz_gateway": ("targets.gateway", "targets.parsers.prescan", "targets.planted"),
    "fuzz_session": ("targets.gateway", "targets.parsers.prescan", "targets.planted"),
    "fuzz_judge": ("oracles", "targets.gateway", "targets.planted"),
    "fuzz_transcript": ("oracles", "targets.planted"),
}
"""For each libFuzzer target the packages whose edges guide it, beside the targets named."""


def main(file: str) -> NoReturn:
    """Run the libFuzzer target whose executable is ``file``; its name is the target's."""
    path = Path(file).resolve()
    atheris = _atheris()
    from fuzz.coverage.orders import orders  # noqa: PLC0415 - it imports no target

    given = orders()
    include = [*UNDER_TEST[path.stem], *(_module(name) for name in given.targets)]
    with atheris.instrument_imports(include):
        run: Any = import_module("fuzz.coverage.run")
    errors: Any = import_module("fuzz.errors"), import_module("targets.errors")
    try:
        run.fuzz(atheris, path, path.stem, sys.argv[1:], given)
    except (errors[0].UsageError, errors[1].TargetError) as error:
        _complain(error.cause, error.hint)
    raise AssertionError("libFuzzer ends the process")


def _module(target: str) -> str:
    """The package of a target named ``package.module:factory``, which is under test as well."""
    module = target.partition(":")[0]
    return module if ":" in target and module != "planted" else "targets.planted"


def _atheris() -> Any:
    try:
        return import_module("atheris")
    except ImportError:
        _complain("atheris is not installed", "it has wheels for Linux on x86-64 only")


def _complain(cause: str, hint: str) -> NoReturn:
    print(f"wirefence: {cause}; {hint}", file=sys.stderr)  # noqa: T201 - no click here
    sys.exit(2)
