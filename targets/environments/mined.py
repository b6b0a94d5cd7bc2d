"""Names and strings out of a library's own files: seeds that only its authors would think of.

What a parser treats specially stands in it as text: names of constants, of hooks
and of error cases, in the data of a compiled library just as in the literals of a Python file.
"""

from __future__ import annotations

import ast
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["mine_strings"]

_RUN = re.compile(rb"[\x20-\x7e]{3,}")
_WORD = re.compile(rb"[A-Za-z_$@#-][A-Za-z0-9_$.:@#+-]{1,31}")
_SHORT = 40
_MOST = 2_000
_NOISE = re.compile(rb"^(?:_Z|_R|\.|[A-Z0-9_]*GLIBC|Py[A-Z_]|_Py)|::|/")
_CONSTANTS = (b".rodata", b".data", b".data.rel.ro")
_ELF64 = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, ...


def mine_strings(files: Iterable[str]) -> list[bytes]:
    """Printable strings of at most 40 bytes in Python and compiled files, short and rare first.

    Files that cannot be read give nothing: they are a source of seeds, not of facts.
    """
    found: Counter[bytes] = Counter()
    for name in files:
        try:
            found.update(_strings_of_file(Path(name)))
        except (OSError, SyntaxError, ValueError, IndexError, struct.error):
            continue
    usable = [text for text in found if not _NOISE.search(text)]
    return sorted(usable, key=lambda text: (found[text], len(text), text))[:_MOST]


def _strings_of_file(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    if path.suffix == ".py":
        yield from _list_literals(content)
    elif content.startswith(_ELF64):
        for run in (run for part in _read_constants(content) for run in _RUN.findall(part)):
            # Rust keeps its strings without ends between them, so long runs are cut into words.
            yield from (run,) if len(run) <= _SHORT else _WORD.findall(run)


def _read_constants(elf: bytes) -> Iterator[bytes]:
    """The sections of a library that hold its constants: machine code is full of chance text."""
    table, entry, count, names = struct.unpack_from("<Q10xHHH", elf, 0x28)
    headers = [_SECTION.unpack_from(elf, table + number * entry) for number in range(count)]
    titles = headers[names][4]
    for title, _, _, _, offset, size, *_ in headers:
        start = titles + title
        if elf[start : elf.index(b"\0", start)] in _CONSTANTS:
            yield elf[offset : offset + size]


def _list_literals(source: bytes) -> Iterator[bytes]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value
            raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            if 0 < len(raw) <= _SHORT:
                yield raw
