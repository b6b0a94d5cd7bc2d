"""One side of a comparison: a JSON library in this process, asked in batches over stdin and stdout.

The key insight: a comparison is cheap when both sides say what they made of an input in eight
bytes, and it is sound when those bytes depend on the typed value alone: not on the interpreter, its
version, the language, or how deep the caller happens to stand. docs/workers.md is the protocol.

This file is run by its path under whatever Python a side asks for: it imports the standard
library only and keeps to the grammar of Python 3.8.
"""

from __future__ import annotations

import faulthandler
import gc
import hashlib
import importlib
import json
import marshal
import math
import os
import platform
import re
import resource
import signal
import struct
import sys
import threading
import time
from functools import partial
from importlib import metadata
from typing import Any, BinaryIO, Callable, Dict, List, NamedTuple, Tuple

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

    readers: List[Reader]
    writers: Dict[str, Callable[[Any], Any]]
    documented: Tuple[type, ...]


class NotUtf8Error(ValueError):
    """The bytes are no text, so a reader of text is never called."""


class RefusedError(ValueError):
    """A constant that the options of a reader refuse."""


# --- the libraries -----------------------------------------------------------------------------


def _refuse(token: str) -> Any:
    raise RefusedError(token)


def _standard(module: Any) -> Library:
    loads, dumps = module.loads, module.dumps
    readers = [
        Reader("str", loads, text=True),
        Reader("bytes", loads),
        Reader("strict=False", partial(loads, strict=False), text=True, default=False),
    ]
    writers = {"dumps": dumps, "ensure_ascii=False": partial(dumps, ensure_ascii=False)}
    return Library(readers, writers, (module.JSONDecodeError, UnicodeDecodeError))


def _json(module: Any) -> Library:
    library = _standard(module)
    constants = partial(module.loads, parse_constant=_refuse)
    library.readers.append(Reader("no-constants", constants, text=True, default=False))
    return library


def _simplejson(module: Any) -> Library:
    library = _standard(module)
    decoder = importlib.import_module("simplejson.decoder")
    scanner = importlib.import_module("simplejson.scanner")
    pure: Any = decoder.JSONDecoder()
    pure.parse_string = decoder.py_scanstring
    pure.scan_once = scanner.py_make_scanner(pure)
    library.readers.insert(2, Reader("pure", pure.decode, text=True))
    return library


def _orjson(module: Any) -> Library:
    readers = [Reader("bytes", module.loads), Reader("str", module.loads, text=True)]
    return Library(readers, {"dumps": module.dumps}, (_error_of(module),))


def _ujson(module: Any) -> Library:
    readers = [Reader("str", module.loads, text=True), Reader("bytes", module.loads)]
    plain = partial(module.dumps, ensure_ascii=False)
    return Library(
        readers, {"dumps": module.dumps, "ensure_ascii=False": plain}, (_error_of(module),)
    )


def _rapidjson(module: Any) -> Library:
    loads = module.loads
    relaxed = module.PM_COMMENTS | module.PM_TRAILING_COMMAS
    readers = [
        Reader("bytes", loads),
        Reader("str", loads, text=True),
        Reader("native", partial(loads, number_mode=module.NM_NATIVE), default=False),
        Reader("relaxed", partial(loads, parse_mode=relaxed), default=False),
        Reader("no-nan", partial(loads, allow_nan=False), default=False),
    ]
    return Library(readers, {"dumps": module.dumps}, (_error_of(module), UnicodeDecodeError))


def _msgspec(module: Any) -> Library:
    decode = importlib.import_module("msgspec.json").decode
    encode = importlib.import_module("msgspec.json").encode
    readers = [Reader("bytes", decode), Reader("str", decode, text=True)]
    return Library(readers, {"encode": encode}, (module.DecodeError,))


def _simdjson(module: Any) -> Library:
    parse = module.Parser().parse
    readers = [Reader("bytes", lambda raw: parse(raw, True))]
    return Library(readers, {"dumps": module.dumps}, (ValueError,))


def _jiter(module: Any) -> Library:
    read = module.from_json
    readers = [
        Reader("bytes", read),
        Reader("no-nan", partial(read, allow_inf_nan=False), default=False),
        Reader("partial", partial(read, partial_mode=True), default=False),
    ]
    return Library(readers, {}, (ValueError,))


def _pydantic_core(module: Any) -> Library:
    validate = module.SchemaValidator({"type": "any"}).validate_json
    readers = [
        Reader("bytes", module.from_json),
        Reader("str", module.from_json, text=True),
        Reader("any", validate),
        Reader("no-nan", partial(module.from_json, allow_inf_nan=False), default=False),
    ]
    return Library(readers, {"to_json": module.to_json}, (ValueError,))


def _unknown(module: Any) -> Library:
    """A library that nobody described: what it calls loads or decode, on bytes and on text."""
    loads = getattr(module, "loads", None) or module.decode
    dumps = getattr(module, "dumps", None) or getattr(module, "encode", None)
    readers = [Reader("str", loads, text=True), Reader("bytes", loads)]
    return Library(readers, {"dumps": dumps} if dumps else {}, (ValueError,))


def _error_of(module: Any) -> Any:
    return getattr(module, "JSONDecodeError", ValueError)


_LIBRARIES: Dict[str, Tuple[str, Callable[[Any], Library]]] = {
    "json": ("json", _json),
    "simplejson": ("simplejson", _simplejson),
    "orjson": ("orjson", _orjson),
    "ujson": ("ujson", _ujson),
    "python-rapidjson": ("rapidjson", _rapidjson),
    "msgspec": ("msgspec", _msgspec),
    "pysimdjson": ("simdjson", _simdjson),
    "jiter": ("jiter", _jiter),
    "pydantic-core": ("pydantic_core", _pydantic_core),
}


def _load(distribution: str, option: str) -> Library:
    """Import a library by the name of its distribution; ``option`` keeps one of its readers."""
    name, describe = _LIBRARIES.get(distribution, (distribution.replace("-", "_"), _unknown))
    library = describe(importlib.import_module(name))
    if not option:
        return library._replace(readers=[reader for reader in library.readers if reader.default])
    chosen = [reader for reader in library.readers if reader.name == option]
    if not chosen:
        names = ", ".join(reader.name for reader in library.readers)
        raise LookupError("%s has no option %r; it has %s" % (distribution, option, names))
    return library._replace(readers=chosen)


# --- typed values ------------------------------------------------------------------------------

_MAYBE_NAN = re.compile(rb"g.{6}[\xf0-\xff][\x7f\xff]", re.DOTALL)
_NAN = b"g" + struct.pack("<d", float("nan"))
_END = object()


def encode(value: Any) -> bytes:
    """The canonical bytes of a value: those of marshal version 2, for any depth and any NaN."""
    try:
        fast = marshal.dumps(value, 2)
    except ValueError:
        return _walk(value, _scalar)
    return _walk(value, _scalar) if b"g" in fast and _MAYBE_NAN.search(fast) else fast


def project(value: Any) -> bytes:
    """The canonical bytes of a value as a language with one number type would tell it."""
    return _walk(value, _number)


def _walk(root: Any, scalar: Callable[[Any], bytes]) -> bytes:
    out: List[bytes] = []
    pending = [root]
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


def _scalar(value: Any) -> bytes:
    if type(value) is float and math.isnan(value):
        return _NAN
    if value is None or type(value) in (bool, int, float, str):
        return marshal.dumps(value, 2)
    text = ("%s %r" % (qualified(type(value)), value)).encode("utf-8", "surrogatepass")
    return b"?" + struct.pack("<i", len(text)) + text


def _number(value: Any) -> bytes:
    whole = type(value) is float and value.is_integer() and str(value) != "-0.0"
    return _scalar(int(value) if whole else value)


# --- outcomes ----------------------------------------------------------------------------------


def qualified(kind: type) -> str:
    """The name by which callers catch an error: that of the top package where it shows it."""
    top = kind.__module__.partition(".")[0]
    public = getattr(sys.modules.get(top), kind.__name__, None) is kind
    module = top if public else kind.__module__
    return "%s.%s" % ("worker" if module == "__main__" else module, kind.__qualname__)


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise NotUtf8Error("not UTF-8") from None


def _say(error: BaseException) -> bytes:
    try:
        return str(error).encode("utf-8", "replace")
    except Exception:  # noqa: BLE001 - an error that cannot say what it is still is one
        return b""


class Side:
    """Answers the batches of one parent with one library."""

    def __init__(self, library: Library, sink: BinaryIO, deadline: float) -> None:
        self.library, self.sink, self.deadline = library, sink, deadline
        self.kinds: Dict[type, Tuple[bytes, bytes]] = {}
        self.began = 0.0

    def serve(self, source: BinaryIO, limit: int) -> None:
        """Answer requests until stdin ends. ``limit`` is what a call from depth 0 may use."""
        work = {b"d": self.digests, b"o": self.outcomes, b"s": self.serialize}
        sys.setrecursionlimit(limit + _depth() + 1)
        while True:
            head = source.read(_SIZE.size)
            if len(head) < _SIZE.size:
                return
            body = source.read(_SIZE.unpack(head)[0])
            operation, flags, which, flush, count = _REQUEST.unpack_from(body)
            at = _REQUEST.size + 4 * count
            items = []
            for size in struct.unpack_from("<%dI" % count, body, _REQUEST.size):
                items.append(body[at : at + size])
                at += size
            self.began = time.process_time()
            faulthandler.dump_traceback_later(self.deadline * _PATIENCE, exit=True)
            work[operation](items, which, flags, flush)
            faulthandler.cancel_dump_traceback_later()

    def emit(self, results: List[bytes], last: bool) -> None:
        """Send results at once, so that a death behind them is narrowed down."""
        peak = _peak() if last else 0
        head = _REPLY.pack(len(results), time.process_time() - self.began, peak)
        body = b"".join(results)
        self.sink.write(_SIZE.pack(len(head) + len(body)) + head + body)
        self.sink.flush()

    def digests(self, items: List[bytes], which: int, flags: int, flush: int) -> None:
        """Eight bytes for each outcome: its kind, and a hash of its value or its error's type."""
        _, read, text, _ = self.library.readers[which]
        canonical = project if flags & _PROJECT else encode
        named, blake = flags & _NAMED, hashlib.blake2b
        for start in range(0, len(items), flush):
            results = []
            for raw in items[start : start + flush]:
                try:
                    value = read(_text(raw) if text else raw)
                    results.append(b"+" + blake(canonical(value), digest_size=7).digest())
                except BaseException as error:  # noqa: BLE001 - whatever is raised is an outcome
                    kind, name = self.kind(error)
                    results.append(kind + blake(name if named else b"", digest_size=7).digest())
            self.emit(results, last=start + flush >= len(items))

    def outcomes(self, items: List[bytes], which: int, flags: int, flush: int) -> None:
        """Each outcome in full: kind, value, error's type, message, the type's bases."""
        _, read, text, _ = self.library.readers[which]
        canonical = project if flags & _PROJECT else encode
        for start in range(0, len(items), flush):
            results = []
            for raw in items[start : start + flush]:
                try:
                    value = read(_text(raw) if text else raw)
                    results.append(_record(b"+", canonical(value)))
                except BaseException as error:  # noqa: BLE001 - whatever is raised is an outcome
                    results.append(self.refusal(error, *self.kind(error)))
            self.emit(results, last=start + flush >= len(items))

    def serialize(self, items: List[bytes], which: int, flags: int, flush: int) -> None:
        """What the library writes for each canonical value."""
        write = list(self.library.writers.values())[which]
        for number, item in enumerate(items, 1):
            value = marshal.loads(item)
            try:
                text = write(value)
                raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
                results = [_record(b"+", bytes(raw))]
            except BaseException as error:  # noqa: BLE001 - whatever is raised is an outcome
                kind, name = self.kind(error)
                usual = isinstance(error, (TypeError, ValueError, OverflowError))
                results = [self.refusal(error, b"-" if usual else kind, name)]
            self.emit(results, last=number == len(items))

    def kind(self, error: BaseException) -> Tuple[bytes, bytes]:
        """Kind and type of an error, remembered for each type."""
        known = self.kinds.get(type(error))
        if known is None:
            documented = isinstance(error, (*self.library.documented, NotUtf8Error, RefusedError))
            kind = b"M" if isinstance(error, MemoryError) else b"-" if documented else b"!"
            known = self.kinds[type(error)] = (kind, qualified(type(error)).encode())
        return known

    @staticmethod
    def refusal(error: BaseException, kind: bytes, name: bytes) -> bytes:
        """The record of an error."""
        bases = [qualified(base) for base in type(error).__mro__[1:-1]]
        return _record(kind, b"", name, _say(error), "\n".join(bases).encode())


def _record(kind: bytes, *fields: bytes) -> bytes:
    padded = fields + (b"",) * (4 - len(fields))
    return kind + b"".join(_SIZE.pack(len(field)) + field for field in padded)


# --- the process -------------------------------------------------------------------------------


def _depth() -> int:
    frame, depth = sys._getframe(1), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return depth


def _peak() -> int:
    """Largest resident memory; that of getrusage would begin with what the parent had."""
    with open("/proc/self/status", "rb") as status:
        found = re.search(rb"VmHWM:\s+(\d+) kB", status.read())
    return int(found.group(1)) * 1024 if found else 0


def _files(name: str) -> List[str]:
    if name == "json":
        loaded = [(n, getattr(m, "__file__", None)) for n, m in list(sys.modules.items())]
        return sorted({f for n, f in loaded if f and n.partition(".")[0] in ("json", "_json")})
    return sorted(str(file.locate()) for file in metadata.files(name) or [])


def _hello(settings: Dict[str, Any], library: Library) -> Dict[str, Any]:
    name = settings["library"]
    return {
        "protocol": PROTOCOL,
        "language": "python",
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "library": name,
        "library_version": platform.python_version() if name == "json" else metadata.version(name),
        "readers": [reader.name for reader in library.readers],
        "writers": list(library.writers),
        "numbers": "typed",
        "files": _files(name),
        "idle_bytes": _peak(),
        "context": {
            "recursion_limit": settings["recursion_limit"],
            "frames": settings["frames"],
            "stack": settings["stack"],
            "memory": settings["memory"],
            "int_digits": getattr(sys, "get_int_max_str_digits", int)(),
        },
    }


def _confine(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _main() -> None:
    settings = json.loads(sys.argv[1])
    # What a library prints must not stand between two answers, nor may it read our requests.
    sink, source = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when work ends
    try:
        library = _load(settings["library"], settings["option"])
        hello = _hello(settings, library)
    except BaseException as error:  # noqa: BLE001 - the parent words what did not start
        hello = {"protocol": PROTOCOL, "error": "%s: %s" % (type(error).__name__, error)}
    text = json.dumps(hello).encode()
    sink.write(_SIZE.pack(len(text)) + text)
    sink.flush()
    if "error" in hello:
        return
    gc.freeze()
    _confine(settings["memory"])
    # A thread's stack has the size we say; that of the main thread has the size its shell says.
    threading.stack_size(settings["stack"])
    side = Side(library, sink, settings["deadline"])
    limit = settings["recursion_limit"] - settings["frames"]
    thread = threading.Thread(target=side.serve, args=(source, limit))
    thread.start()
    thread.join()


if __name__ == "__main__":
    _main()
