"""Is the instrumented copy the one that this process runs?

Without the preloaded runtime the C module does not load, and ``json`` and
``simplejson`` answer with their pure Python scanners: everything works and nothing is covered. Only
the process that fuzzes can tell, so it asks before the first input.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.libraries import Library, choose_libraries

__all__ = ["ADDRESS", "COVERAGE", "assert_loaded", "assert_ordered", "order_copies"]

COVERAGE = b"__sanitizer_cov_8bit_counters_init"
"""Symbol that every module built with ``-fsanitize=fuzzer-no-link`` asks its process for."""
ADDRESS = b"__asan_init"
"""Symbol that every module built with ``-fsanitize=address`` asks its process for."""

_VARIABLE = "WIREFENCE_NATIVE"
_RELAYED = "LLVMFuzzerCustomMutator"
_HINT = "start Python with the environment that wirefence.fuzz.native.build.prepare gives"


def assert_loaded(names: Sequence[str], *, address: bool = False) -> None:
    """Import the libraries; raise UsageError unless each runs its instrumented C code here.

    With ``address`` the code must watch its memory as well. To be called in the fuzzing process,
    before the first input.
    """
    libraries = choose_libraries(names)
    for library in libraries:
        fault = _find_fault(library, COVERAGE, ADDRESS if address else COVERAGE)
        if fault:
            raise UsageError(
                f"{library.name} is not running its instrumented copy: {fault}",
                _HINT,
            )
    if not hasattr(ctypes.CDLL(None), _RELAYED):
        raise UsageError(
            "a preloaded libFuzzer would never call a custom mutator in this process", _HINT
        )


def order_copies(names: Sequence[str], *, address: bool) -> dict[str, str]:
    """The variable that tells a process which copies it must run."""
    return {_VARIABLE: json.dumps({"names": list(names), "address": address})}


def assert_ordered() -> None:
    """Like :func:`assert_loaded`, for what the environment orders; nothing where it orders none.

    So a target need not know how it was started, and a lost preload still ends it at once.
    """
    text = os.environ.get(_VARIABLE)
    if not text:
        return
    try:
        said = json.loads(text)
        names, address = [str(name) for name in said["names"]], bool(said["address"])
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{_VARIABLE} holds no order", "unset it") from error
    assert_loaded(names, address=address)


def _find_fault(library: Library, *symbols: bytes) -> str:
    try:
        module = importlib.import_module(library.module)
        caller = importlib.import_module(library.caller)
    except ImportError as error:
        return f"its C code did not load ({error})"
    file = getattr(module, "__file__", None)
    if file is None:
        return f"{library.module} is built into this interpreter"
    built = Path(file).read_bytes()
    missing = next((symbol for symbol in symbols if symbol not in built), None)
    if missing:
        return f"{file} was built without {missing.decode()}"
    if getattr(caller, library.function, None) is not getattr(module, library.offers):
        return f"{library.caller} uses other code than {file}"
    return ""
