"""A lenient reading is seen where a frame spells it, and made lawful there and nowhere else."""

from __future__ import annotations

import pytest

from wirefence.fuzz.crashes.causes import READINGS

BY_NAME = {reading.name: reading for reading in READINGS}
NAMES = b'{"a":'


@pytest.mark.parametrize(
    ("name", "frame", "lawful"),
    [
        ("integers beyond 2^53", b"[12345678901234567]", b"[0]"),
        ("integers beyond 2^53", b"[-1234567890123456,5]", b"[-0,5]"),
        ("fractions beyond binary64", b"[1e400,2]", b"[0,2]"),
        ("fractions beyond binary64", b"[1.5E+999,2]", b"[0,2]"),
        ("fractions beyond binary64", b"[0.%b]" % (b"1" * 300), b"[0]"),
        ("fractions beyond binary64", b"[0.%be-5]" % (b"1" * 300), b"[0]"),
        ("deeper nesting", b"[" * 100 + b"1" + b"]" * 100, b"0"),
        ("deeper nesting", NAMES * 100 + b"1" + b"}" * 100, b"0"),
        ("deeper nesting", (b"[" * 3 + NAMES) * 30 + b"1,2", b"0"),
        # The name that is not closed is no level of nesting: it stays as it is.
        ("deeper nesting", b"[" * 100 + b'{"abc', b'0{"abc'),
        ("deeper nesting", NAMES * 120 + b'{"a"1', b'0{"a"1'),
    ],
)
def test_a_spelling_is_made_lawful(name, frame, lawful):
    reading = BY_NAME[name]
    assert reading.spelled(frame)
    assert reading.lawful(frame) == lawful


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("integers beyond 2^53", b"[123456789012345]"),
        ("integers beyond 2^53", b"[12345678901234567.5]"),
        ("integers beyond 2^53", b"[12345678901234567e2]"),
        ("integers beyond 2^53", b"[0.12345678901234567]"),
        ("fractions beyond binary64", b"[1e99]"),
        ("fractions beyond binary64", b"[0.%b]" % (b"1" * 299)),
        ("fractions beyond binary64", b"[%b]" % (b"1" * 400)),
        ("deeper nesting", b"[" * 99 + b"1" + b"]" * 99),
        ("deeper nesting", (b"[" * 99 + b"1,") * 5),
        ("deeper nesting", b"[" * 99 + b'{"abc'),
    ],
)
def test_a_lawful_frame_stays_as_it_is(name, frame):
    reading = BY_NAME[name]
    assert not reading.spelled(frame)
    assert reading.lawful(frame) == frame
