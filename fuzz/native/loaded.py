"""Is the instrumented copy the one that this process runs?

The key insight: without the preloaded runtime the C module does not load, and ``json`` and
``simplejson`` answer with their pure Python scanners: everything works and nothing is covered. Only
the process that fuzzes can tell, so it asks before the first input.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from pathlib import Path

from fuzz.errors import UsageError
from fuzz.native.libraries import Library, chosen

__all__ = ["ADDRESS", "COVERAGE", "assert_loaded"]

COVERAGE = b"__sanitizer_cov_8bit_counters_init"
"""Symbol that every module built with ``-fsanitize=fuzzer-no-link`` asks its process for."""
ADDRESS = b"__asan_init"
"""Symbol that every module built with ``-fsanitize=address`` asks its process for."""

_RELAYED = "LLVMFuzzerCustomMutator"
_HINT = "start Python with the environment that fuzz.native.build.prepare gives"


def assert_loaded(names: Sequence[str], *, address: bool = False) -> None:
    """Import the libraries; raise UsageError unless each runs its instrumented C code here.

    With ``address`` the code must watch its memory as well. To be called in the fuzzing process,
    before the first input.
    """
    libraries = chosen(names)
    for library in libraries:
        fault = _fault(library, COVERAGE, ADDRESS if address else COVERAGE)
        if fault:
            raise UsageError(
                f"{library.name} is not running its instrumented copy: {fault}",
                _HINT,
            )
    if not hasattr(ctypes.CDLL(None), _RELAYED):
        raise UsageError(
            "a preloaded libFuzzer would never call a custom mutator in this process", _HINT
        )


def _fault(library: Library, *symbols: bytes) -> str:
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
