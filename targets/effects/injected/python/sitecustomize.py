"""Loaded by every Python below a watched launch: notes what the process does, and nothing else.

It must never be noticed: nothing is printed, an error of its own is dropped, no descriptor stays
open, and a ``sitecustomize`` that the server has is run as if this one were not there. Runs on
Python 3.8 and later; an older one has no audit hooks and is left alone.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing would be imported into the server
    from collections.abc import Callable

_JOURNAL = os.environ.get("WIREFENCE_PYTHON_JOURNAL", "")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_busy: set[int] = set()


def _encode_value(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return os.fspath(value if isinstance(value, (str, os.PathLike)) else str(value)).encode(
        "utf-8", "surrogateescape"
    )


def _resolve_path(value: object, dir_fd: object = -1) -> bytes:
    """An absolute path where that can be known."""
    raw = _encode_value(value)
    if raw.startswith(b"/") or isinstance(value, int):
        return raw
    if isinstance(dir_fd, int) and dir_fd >= 0:
        return os.readlink(b"/proc/self/fd/%d" % dir_fd) + b"/" + raw
    return os.path.abspath(raw)


def _join_words(value: object) -> bytes:
    return (
        b" ".join(map(_encode_value, value))
        if isinstance(value, (list, tuple))
        else _encode_value(value)
    )


def _format_address(value: object) -> bytes:
    if isinstance(value, tuple) and len(value) >= 2:
        return _encode_value(value[0]) + b":" + _encode_value(value[1])
    return b"unix:" + _encode_value(value)


def _describe_open(path: object, _mode: object, flags: object) -> bytes | None:
    by_name = path is not None and not isinstance(path, int)
    return _resolve_path(path) if by_name and isinstance(flags, int) and flags & _WRITING else None


def _describe_arguments(_program: object, args: object, _env: object) -> bytes:
    return _join_words(args)


def _describe_database(path: object) -> bytes | None:
    return None if path in {":memory:", b":memory:", ""} else _resolve_path(path)


# Event -> kind of effect and what identifies it; see "Audit events table" in Python's library docs.
_EVENTS: dict[str, tuple[str, Callable[..., bytes | None]]] = {
    "open": ("write", _describe_open),
    "os.mkdir": ("write", lambda path, _mode, dir_fd: _resolve_path(path, dir_fd)),
    "os.truncate": ("write", lambda path, _length: _resolve_path(path)),
    "os.symlink": ("write", lambda _src, dst, dir_fd: _resolve_path(dst, dir_fd)),
    "os.link": ("write", lambda _src, dst, _src_fd, dst_fd: _resolve_path(dst, dst_fd)),
    "sqlite3.connect": ("write", _describe_database),
    "os.remove": ("delete", _resolve_path),
    "os.rmdir": ("delete", _resolve_path),
    "os.rename": (
        "rename",
        lambda src, dst, src_fd, dst_fd: (
            _resolve_path(src, src_fd) + b" -> " + _resolve_path(dst, dst_fd)
        ),
    ),
    "subprocess.Popen": ("exec", lambda _executable, args, _cwd, _env: _join_words(args)),
    "os.exec": ("exec", _describe_arguments),
    "os.posix_spawn": ("exec", _describe_arguments),
    "os.system": ("exec", _encode_value),
    "socket.connect": ("connect", lambda _socket, address: _format_address(address)),
    "socket.sendto": ("connect", lambda _socket, address: _format_address(address)),
    "socket.getaddrinfo": (
        "connect",
        lambda host, port, *_: b"resolve " + _encode_value(host) + b":" + _encode_value(port),
    ),
    "socket.gethostbyname": ("connect", lambda host: b"resolve " + _encode_value(host)),
}


def _escape_text(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def _write_note(kind: str, detail: bytes) -> None:
    line = b"%s\t%.6f\t%d\t%s\t\n" % (
        kind.encode(),
        time.monotonic(),
        os.getpid(),
        _escape_text(detail),
    )
    descriptor = os.open(_JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _handle_event(event: str, args: tuple[object, ...]) -> None:
    if event not in _EVENTS:
        return
    thread = get_ident()
    if thread in _busy:  # our own note opens a file
        return
    _busy.add(thread)
    try:
        kind, describe = _EVENTS[event]
        detail = describe(*args)
        if detail is not None:
            _write_note(kind, detail)
    except BaseException:  # noqa: BLE001, S110 - what goes wrong here must not reach the server
        pass
    finally:
        _busy.discard(thread)


def _run_other_sitecustomize() -> None:
    """Run the ``sitecustomize`` that would have been found without ours."""
    import importlib.machinery  # noqa: PLC0415 - kept out of the start until the hook is on
    import importlib.util  # noqa: PLC0415 - kept out of the start until the hook is on

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _install_hook() -> None:
    try:
        _write_note("hello", _encode_value(sys.executable or "python"))
        sys.addaudithook(_handle_event)
    except Exception:  # noqa: BLE001, S110 - a journal that is gone
        pass


if _JOURNAL and hasattr(sys, "addaudithook"):
    _install_hook()
_run_other_sitecustomize()
