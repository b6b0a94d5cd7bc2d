"""One side of a comparison: a JSON library in this process, asked in batches over stdin and stdout.

A comparison is cheap when both sides say what they made of an input in eight
bytes, and it is sound when those bytes depend on the typed value alone: not on the interpreter, its
version, the language, or how deep the caller happens to stand. docs/internals/workers.md describes
the protocol.

This file is run by its path under whatever Python a side asks for: it imports the standard
library only and keeps to what Python 3.8 knows.
"""

from __future__ import annotations

import _thread
import faulthandler
import gc
import importlib
import json
import marshal
import math
import os
import platform
import re
import resource
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

PROTOCOL = 1
_PROJECT, _NAMED = 1, 2  # flags of a request
_SIZE = struct.Struct("<I")
_REQUEST = struct.Struct("<cBHII")  # operation, flags, reader or writer, flush, count
_REPLY = struct.Struct("<IdQ")  # results, CPU seconds of this batch so far, peak bytes
_PATIENCE = 20  # a worker whose parent is gone ends after so many deadlines


class Reader(NamedTuple):
    """A way to read a document; ``text`` decodes it first, ``default`` takes part unasked."""

    name: str
    read: Callable[[Any], Any]
    text: bool = False
    default: bool = True


class Library(NamedTuple):
    """What is run: readers, writers, and the errors that its documentation names for reading."""

    readers: list[Reader]
    writers: dict[str, Callable[[Any], Any]]
    documented: tuple[type, ...]


class NotUtf8Error(ValueError):
    """The bytes are no text, so a reader of text is never called."""


def _describe_json(module: Any) -> Library:
    read, write = module.loads, module.dumps
    readers = [
        Reader("str", read, text=True),
        Reader("bytes", read),
        Reader("strict=False", partial(read, strict=False), text=True, default=False),
    ]
    writers = {"dumps": write, "ensure_ascii=False": partial(write, ensure_ascii=False)}
    return Library(readers, writers, (module.JSONDecodeError, UnicodeDecodeError))


def _describe_simplejson(module: Any) -> Library:
    library = _describe_json(module)
    decoder = importlib.import_module("simplejson.decoder")
    pure: Any = decoder.JSONDecoder()
    pure.parse_string = decoder.py_scanstring
    pure.scan_once = importlib.import_module("simplejson.scanner").py_make_scanner(pure)
    library.readers.insert(2, Reader("pure", pure.decode, text=True))
    return library


def _describe_rapidjson(module: Any) -> Library:
    read = module.loads
    relaxed = module.PM_COMMENTS | module.PM_TRAILING_COMMAS
    library = _describe_usual(module)
    extra = [
        Reader("relaxed", partial(read, parse_mode=relaxed), default=False),
        Reader("no-nan", partial(read, allow_nan=False), default=False),
    ]
    errors = (module.JSONDecodeError, UnicodeDecodeError)
    return library._replace(readers=library.readers + extra, documented=errors)


def _describe_msgspec(module: Any) -> Library:
    codec = importlib.import_module("msgspec.json")
    return _describe_usual(codec)._replace(documented=(module.DecodeError,))


def _describe_simdjson(module: Any) -> Library:
    parse = module.Parser().parse
    eager = Reader("bytes", lambda raw: parse(raw, True))  # noqa: FBT003 - it takes no keyword
    return Library([eager], {"dumps": module.dumps}, (ValueError,))


def _describe_from_json(module: Any) -> Library:
    read = module.from_json
    no_nan = Reader("no-nan", partial(read, allow_inf_nan=False), default=False)
    return Library([Reader("bytes", read), no_nan], {}, (ValueError,))


def _describe_pydantic_core(module: Any) -> Library:
    library = _describe_from_json(module)
    validate = module.SchemaValidator({"type": "any"}).validate_json
    library.readers[1:1] = [Reader("str", module.from_json, text=True), Reader("any", validate)]
    return library._replace(writers={"to_json": module.to_json})


def _describe_usual(module: Any) -> Library:
    """A library of the usual shape: loads (or decode) on bytes and on text, dumps (or encode)."""
    read = getattr(module, "loads", None) or module.decode
    write = getattr(module, "dumps", None) or getattr(module, "encode", None)
    readers = [Reader("bytes", read), Reader("str", read, text=True)]
    error = getattr(module, "JSONDecodeError", ValueError)
    return Library(readers, {"dumps": write} if write else {}, (error,))


_DESCRIBED: dict[str, Callable[[Any], Library]] = {
    "json": _describe_json,
    "simplejson": _describe_simplejson,
    "rapidjson": _describe_rapidjson,
    "msgspec": _describe_msgspec,
    "simdjson": _describe_simdjson,
    "jiter": _describe_from_json,
    "pydantic_core": _describe_pydantic_core,
}


def _load_library(module: str, option: str) -> Library:
    """Import a library by the name of its module; ``option`` keeps one of its readers."""
    library = _DESCRIBED.get(module, _describe_usual)(importlib.import_module(module))
    kept = [r for r in library.readers if (r.name == option if option else r.default)]
    if not kept:
        names = ", ".join(reader.name for reader in library.readers)
        sys.exit(f"{module} has no option {option!r}, only {names}")
    return library._replace(readers=kept)


_END = object()


def encode_value(value: Any) -> bytes:
    """The canonical bytes of a value: those of marshal version 2, at any depth and for any value.

    What does not come back equal takes the slow way: NaN, and text that is inside not as Python
    makes it (extensions have put other bytes into ASCII text), which marshal would hide.
    """
    try:
        fast = marshal.dumps(value, 2)
        if marshal.loads(fast) == value:  # noqa: S302 - written one line above
            return fast
    except (ValueError, RecursionError):  # deeper than these can go, or of no plain type
        pass
    return _encode_iteratively(value, _encode_scalar)


def _encode_iteratively(root: Any, scalar: Callable[[Any], bytes]) -> bytes:
    out, pending = [], [root]
    while pending:
        value = pending.pop()
        if value is _END:
            out.append(b"0")
        elif type(value) is list:
            out.append(b"[" + struct.pack("<i", len(value)))
            pending.extend(reversed(value))
        elif type(value) is dict:
            out.append(b"{")
            pending.append(_END)
            for key, member in reversed(list(value.items())):
                pending += (member, key)
        else:
            out.append(scalar(value))
    return b"".join(out)


def _encode_scalar(value: Any) -> bytes:
    if type(value) is float and math.isnan(value):
        value = math.nan
    if type(value) is str:
        value = "".join([value[at] for at in range(len(value))])  # iterating it could crash
    if value is None or type(value) in (bool, int, float, str):
        return marshal.dumps(value, 2)
    text = f"{qualify_name(type(value))} {value!r}".encode("utf-8", "surrogatepass")
    return b"?" + struct.pack("<i", len(text)) + text


def _encode_number(value: Any) -> bytes:
    whole = type(value) is float and value.is_integer() and (value or math.copysign(1, value) > 0)
    return _encode_scalar(int(value) if whole else value)


project = partial(_encode_iteratively, scalar=_encode_number)
"""The canonical bytes of a value as a language with one number type would tell it."""


def qualify_name(kind: type) -> str:
    """The name by which callers catch an error: that of the top package where it shows it."""
    top = kind.__module__.partition(".")[0]
    public = getattr(sys.modules.get(top), kind.__name__, None) is kind
    module = top if public else kind.__module__
    return f"{'worker' if module == '__main__' else module}.{kind.__qualname__}"


def _decode_text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise NotUtf8Error("not UTF-8") from None


def _encode_message(error: BaseException) -> bytes:
    try:
        return str(error).encode("utf-8", "replace")
    except Exception:  # noqa: BLE001 - an error that cannot say what it is still is one
        return b""


def _pack_record(kind: bytes, *fields: bytes) -> bytes:
    padded = (*fields, b"", b"", b"", b"")[:4]
    return kind + b"".join(_SIZE.pack(len(field)) + field for field in padded)


def _read_request(source: BinaryIO, size: int) -> tuple[bytes, int, int, int, list[bytes]]:
    body, items = source.read(size), []
    operation, flags, which, flush, count = _REQUEST.unpack_from(body)
    at = _REQUEST.size + 4 * count
    for length in struct.unpack_from(f"<{count}I", body, _REQUEST.size):
        items.append(body[at : at + length])
        at += length
    return operation, flags, which, flush, items


def _send_frame(sink: BinaryIO, body: bytes) -> None:
    sink.write(_SIZE.pack(len(body)) + body)
    sink.flush()


class Server:
    """Answers the batches of one parent with one library."""

    def __init__(self, library: Library, sink: BinaryIO, deadline: float) -> None:
        self.library, self.sink, self.deadline = library, sink, deadline
        self.makers = {b"d": self.digester, b"o": self.teller, b"s": self.writer}
        self.kinds: dict[type, tuple[bytes, bytes]] = {}

    def serve(self, source: BinaryIO, deeper: int) -> None:
        """Answer until stdin ends, ``deeper`` calls further down the stack than this one.

        Results go out as they come, so that an ending behind them is narrowed down. A parser is
        called from here through one function: no comprehension, it is a frame of some Pythons.
        """
        if deeper:
            return self.serve(source, deeper - 1)
        try:
            while len(head := source.read(_SIZE.size)) == _SIZE.size:
                operation, flags, which, flush, items = _read_request(source, _SIZE.unpack(head)[0])
                one, began = self.makers[operation](which, flags), time.process_time()
                faulthandler.dump_traceback_later(self.deadline * _PATIENCE, exit=True)
                for start in range(0, len(items), flush):
                    results = []
                    for item in items[start : start + flush]:
                        results.append(one(item))
                    peak = _read_peak() if start + flush >= len(items) else 0
                    told = _REPLY.pack(len(results), time.process_time() - began, peak)
                    _send_frame(self.sink, told + b"".join(results))
                faulthandler.cancel_dump_traceback_later()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the main thread would wait for ever
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def digester(self, which: int, flags: int) -> Callable[[bytes], bytes]:
        """Eight bytes for each outcome: its kind, and a hash of its value or its error's type."""

        def refuse(error: BaseException) -> bytes:
            kind, name = self.kind(error)
            return kind + sha256(name if flags & _NAMED else b"").digest()[:7]

        return self.reader(which, flags, lambda raw: b"+" + sha256(raw).digest()[:7], refuse)

    def teller(self, which: int, flags: int) -> Callable[[bytes], bytes]:
        """Each outcome in full: kind, value, error's type, message, the type's bases."""
        return self.reader(which, flags, partial(_pack_record, b"+"), self.refusal)

    def reader(self, which: int, flags: int, accept: Any, refuse: Any) -> Callable[[bytes], bytes]:
        """What one input comes to, told by ``accept`` or ``refuse``."""
        _, read, text, _ = self.library.readers[which]
        canonical = project if flags & _PROJECT else encode_value

        def one(raw: bytes) -> bytes:
            try:
                return accept(canonical(read(_decode_text(raw) if text else raw)))  # type: ignore[no-any-return]
            except BaseException as error:  # noqa: BLE001 - whatever is raised is an outcome
                return refuse(error)  # type: ignore[no-any-return]

        return one

    def writer(self, which: int, _flags: int) -> Callable[[bytes], bytes]:
        """What the library writes for a canonical value."""
        write = list(self.library.writers.values())[which]

        def put(item: bytes) -> bytes:
            try:
                text = write(marshal.loads(item))  # noqa: S302 - our parent wrote it
                raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
                return _pack_record(b"+", bytes(raw))
            except BaseException as error:  # noqa: BLE001 - whatever is raised is an outcome
                usual = isinstance(error, (TypeError, ValueError, OverflowError))
                return self.refusal(error, b"-" if usual else b"")

        return put

    def kind(self, error: BaseException) -> tuple[bytes, bytes]:
        """Kind and type of an error, remembered for each type."""
        known = self.kinds.get(type(error))
        if known is None:
            documented = isinstance(error, (*self.library.documented, NotUtf8Error))
            kind = b"M" if isinstance(error, MemoryError) else b"-" if documented else b"!"
            known = self.kinds[type(error)] = (kind, qualify_name(type(error)).encode())
        return known

    def refusal(self, error: BaseException, kind: bytes = b"") -> bytes:
        """The record of an error."""
        usual, name = self.kind(error)
        bases = "\n".join(qualify_name(base) for base in type(error).__mro__[1:-1])
        return _pack_record(kind or usual, b"", name, _encode_message(error), bases.encode())


def _read_peak() -> int:
    """Largest resident memory; that of getrusage would begin with what the parent had."""
    status = Path("/proc/self/status").read_bytes()
    return int(re.findall(rb"VmHWM:\s+(\d+) kB", status)[0]) * 1024


def _list_files(distribution: str) -> list[str]:
    if distribution:
        return sorted(str(file.locate()) for file in metadata.files(distribution) or [])
    parts = ("json.decoder", "json.encoder", "json.scanner", "_json")
    return [getattr(sys.modules.get(part), "__file__", "") for part in parts]


def _make_hello(settings: dict[str, Any], library: Library) -> dict[str, Any]:
    name, python = settings["distribution"], platform.python_version()
    return {
        "protocol": PROTOCOL,
        "language": "python",
        "implementation": platform.python_implementation(),
        "version": python,
        "library": name or "json",
        "library_version": metadata.version(name) if name else python,
        "readers": [reader.name for reader in library.readers],
        "writers": list(library.writers),
        "numbers": "typed",
        "files": _list_files(name),
        "idle_bytes": _read_peak(),
        "context": {
            **{name: settings[name] for name in ("recursion_limit", "frames", "stack", "memory")},
            "int_digits": getattr(sys, "get_int_max_str_digits", int)(),
        },
    }


def _main() -> None:
    settings = json.loads(sys.argv[1])
    # What a library prints must not stand between two answers, nor may it read our requests.
    sink, source = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        library = _load_library(settings["module"], settings["option"])
        hello = _make_hello(settings, library)
    except BaseException as error:  # noqa: BLE001 - the parent words what did not start
        said = str(error) if isinstance(error, SystemExit) else repr(error)
        return _send_frame(sink, json.dumps({"protocol": PROTOCOL, "error": said}).encode())
    _send_frame(sink, json.dumps(hello).encode())
    gc.freeze()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (settings["memory"], settings["memory"]))
    sys.setrecursionlimit(settings["recursion_limit"])
    server = Server(library, sink, settings["deadline"])
    # A thread's stack has the size we say, that of the main thread the size its shell says. The
    # class Thread would call us through C, which some Pythons count as nesting.
    _thread.stack_size(settings["stack"])
    _thread.start_new_thread(server.serve, (source, settings["frames"] - 2))
    while True:
        time.sleep(3_600)  # the thread ends the process


if __name__ == "__main__":
    _main()
