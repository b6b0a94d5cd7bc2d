"""simplejson without its C scanner, beside the one that has it.

The key insight: the pure Python scanner is what runs where no wheel fits, and it is another parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simplejson import decoder, scanner

__all__ = ["pure_simplejson"]


def pure_simplejson() -> Callable[[str], object]:
    """``loads`` of simplejson over its pure Python scanner and string scanner."""
    pure: Any = decoder.JSONDecoder()
    pure.parse_string = decoder.py_scanstring
    pure.scan_once = scanner.py_make_scanner(pure)
    decode: Callable[[str], object] = pure.decode
    return decode
