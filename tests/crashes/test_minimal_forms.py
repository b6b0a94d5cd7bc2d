"""Quality: every planted fault comes out in its pinned minimal form, for about as many runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.crashes.conftest import CALL, HANDSHAKE
from tests.crashes.minimal import Form, table
from wirefence.fuzz.shrink.deviation_guard import list_deviations
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.targets.planted import BY_NAME, PLANTED

TABLE = table()
ELSEWHERE = {"buffers-without-bound"}
"""Shows only in frames of a megabyte."""
DEEP = "dies-on-deep-nesting"
"""Its smallest depth is the interpreter's: about 1,000 in Python 3.11, 65,000 in 3.14."""
DEEPER = "[" * 100_000


@pytest.mark.parametrize(
    "form", [form for form in TABLE if form.fault != DEEP], ids=lambda form: form.fault
)
def test_a_planted_fault_comes_out_in_its_minimal_form(form: Form):
    made = form.reduced()
    assert made.finished
    assert made.executions <= min(430, form.executions + 20)  # those count that are not run
    assert made.data == form.smallest.encode("latin-1")


def test_depth_that_kills_is_cut_to_what_the_interpreter_bears():
    form = next(form for form in TABLE if form.fault == DEEP)
    made = replace(form, start=DEEPER + form.start).reduced()
    assert made.finished
    assert made.executions <= 50
    assert made.data == b"[" * (len(made.data) - 1) + b"\n"
    assert len(made.data) <= len(DEEPER)


def test_depth_that_a_call_holds_is_not_looked_into_level_by_level():
    levels = b'{"a":' * 150 + b"0" + b"}" * 150
    call = (CALL % (2, 2)).replace(b'"note":"some words"', b'"options":{"note":%b}' % levels)
    start = HANDSHAKE + CALL % (1, 1) + call
    kind = "act-rejected|json-depth:depth"
    made = Form(DEEP, kind, pauses=False, start=start.decode(), smallest="", executions=0).reduced()
    assert made.finished
    assert made.executions <= 300
    assert b"[" * 120 in made.data


def test_no_minimal_form_is_wrong_in_a_way_in_which_its_start_is_not():
    for form in TABLE:
        assert deviations_of(form, form.smallest) <= deviations_of(form, form.start), form.fault


def deviations_of(form: Form, text: str) -> frozenset[str]:
    version = BY_NAME[form.fault].version
    return list_deviations(case_from_bytes(text.encode("latin-1"), protocol=version))


def test_every_planted_fault_has_one():
    assert {form.fault for form in TABLE} | ELSEWHERE == {planted.name for planted in PLANTED}


def test_none_is_as_it_was_found():
    assert all(len(form.smallest) < len(form.start) for form in TABLE)
