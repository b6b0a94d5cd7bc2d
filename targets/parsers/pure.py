"""simplejson without its C scanner, beside the one that has it.

The pure Python scanner is what runs where no wheel fits, and it is another parser.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["pure_simplejson"]


def pure_simplejson() -> Callable[[str], object]:
    """``loads`` of simplejson over its pure Python scanner and string scanner.

    Raises ImportError.
    """
    decoder: Any = import_module("simplejson.decoder")
    scanner: Any = import_module("simplejson.scanner")
    pure: Any = decoder.JSONDecoder()
    pure.parse_string = decoder.py_scanstring
    pure.scan_once = scanner.py_make_scanner(pure)
    decode: Callable[[str], object] = pure.decode
    return decode
