"""The line of stderr that says why a process ended."""

from __future__ import annotations

import pytest

from wirefence.fuzz.text import last_words


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (b"", ""),
        (b" \n\r\n", ""),
        (b"no config\n", "no config"),
        (b"Traceback:\n  line 1\nKeyError: 'id'\n", "KeyError: 'id'"),
        (b"asyncio.exceptions.CancelledError\nlog: bye\n", "asyncio.exceptions.CancelledError"),
        (
            b"    throw e\n\nSyntaxError: Unexpected\n    at x\n\nNode.js v20\n",
            "SyntaxError: Unexpected",
        ),
        (
            b"panic: index out of range\n\ngoroutine 1:\nexit status 2\n",
            "panic: index out of range",
        ),
        (
            b"thread 'main' panicked at a.rs:3:\nno\nnote: run with more\n",
            "thread 'main' panicked at a.rs:3:",
        ),
        (b"ValueError: one\nKeyError: two\n", "KeyError: two"),
        (b"no TypeError here\nlast\n", "last"),
        (b"\xff" + b"x" * 9_999, "\\xff" + "x" * 9_999),  # whole: secrets are hidden before a cut
    ],
)
def test_an_error_is_told_before_what_runtimes_put_behind_it(stderr: bytes, words: str) -> None:
    assert last_words(stderr) == (f"; its last words on stderr: {words}" if words else "")
