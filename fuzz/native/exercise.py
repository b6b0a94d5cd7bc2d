"""Fuzz one library: ``python -m wirefence.fuzz.native.exercise NAME [ARGS...]``.

The shortest possible target, nothing but the library on decoded bytes, gives the
ceiling for execs/s and edges against which a real target is to be read. ARGS are libFuzzer's.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import atheris

from wirefence.fuzz.native.libraries import LIBRARIES
from wirefence.fuzz.native.loaded import assert_loaded

__all__ = ["main"]


def _import_loads(name: str) -> Callable[[str], object]:
    module = importlib.import_module(LIBRARIES[name].caller.partition(".")[0])
    loads: Callable[[str], object] = module.loads
    return loads


def main() -> None:
    """Fuzz the library named first; the rest of the command line goes to libFuzzer."""
    name, *rest = sys.argv[1:]
    assert_loaded([name])
    loads = _import_loads(name)

    def one(data: bytes) -> None:
        try:
            loads(data.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return

    atheris.Setup([f"{sys.executable} -m {__spec__.name} {name}", *rest], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
