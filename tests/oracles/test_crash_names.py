"""One place that fails has one name, whatever was sent to it; two places have two."""

from __future__ import annotations

import pytest

from wirefence.oracles.crash_names import find_last_error, name_crash

GROUP = b"""  + Exception Group Traceback (most recent call last):
  |   File "/srv/app/main.py", line 12, in <module>
  | BaseExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/srv/app/read.py", line %d, in read
    |     value = json.loads(line)
    | json.decoder.JSONDecodeError: Expecting value: line 1 column %d (char %d)
    +------------------------------------
"""
SAME = [
    ("KeyError: 'id'", "KeyError: 'another id'"),
    ('KeyError: "it\'s"', 'KeyError: "a \\" quote"'),
    ("ValueError: bad literal: '0x", "ValueError: bad literal: '[1, 2"),
    (
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "JSONDecodeError: Expecting value: line 22 column 7 (char 918)",
    ),
    ("TypeError: <Frame object at 0x7f12ab> is no id", "TypeError: <Frame object at 0x0> is no id"),
    ("OSError: no file /srv/one/a.json", "OSError: no file /srv/two/b-2.json"),
    ('SyntaxError: Unexpected token in JSON {"a":1}', "SyntaxError: Unexpected token in JSON {}"),
    ("Error: cannot read [1,2,3]", "Error: cannot read [true]"),
    ("Error: cannot read `x`", "Error: cannot read `y z`"),
    ("Error:  two   spaces", "Error: two\tspaces"),
    ("Error: at file:///srv/a/index.js:10:3", "Error: at file:///opt/b/main.js:8:99"),
    ("thread 'main' panicked at C:\\src\\a.rs:1:2", "thread 'worker' panicked at D:\\x\\b.rs:31:4"),
]
DIFFERENT = [
    "KeyError: 'id'",
    "IndexError: list index out of range",
    "IndexError: pop from empty list",
    "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "JSONDecodeError: Extra data: line 1 column 1 (char 0)",
    "RecursionError: maximum recursion depth exceeded",
    "TypeError: unhashable type: 'list'",
    "",
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_place_has_one_name_whatever_was_sent(one: str, other: str) -> None:
    assert name_crash("exit 1", one) == name_crash("exit 1", other)


def test_different_errors_have_different_names() -> None:
    named = [name_crash("exit 1", each) for each in DIFFERENT]
    assert len(set(named)) == len(DIFFERENT)


def test_the_way_of_ending_is_part_of_the_name() -> None:
    ends = ("exit 1", "exit 2", "SIGSEGV", "KeyError", "")
    assert len({name_crash(each, "Error: x") for each in ends}) == len(ends)
    assert [name_crash(each, "") for each in ends] == [*ends[:-1], "exit"]


def test_a_name_keeps_the_first_words_and_can_stand_in_a_signature() -> None:
    assert name_crash("exit 1", "KeyError: 'id'") == "exit 1: KeyError"
    long = name_crash("exit 1", "Error: " + "word " * 10_000)
    assert len(long) < 200
    assert "|" not in name_crash("exit 1", "Error: a|b")
    assert "\n" not in name_crash("exit 1", "Error: a\nb")


def test_the_last_error_of_a_traceback_is_found_behind_and_before_other_words() -> None:
    error = b"Traceback (most recent call last):\n  File 'x'\nValueError: no\n"
    assert find_last_error(error) == "ValueError: no"
    assert find_last_error(b"log: started\n" + error + b"log: bye\n\n") == "ValueError: no"
    assert find_last_error(b"KeyError: 1\n" + error) == "ValueError: no"
    node = b"Error: no\n    at read (/srv/a.js:1:2)\n\nNode.js v22.1.0\n"
    assert find_last_error(node) == "Error: no"


def test_without_an_error_the_last_words_count() -> None:
    assert find_last_error(b"one\ntwo\n---\n\n") == "two"
    assert find_last_error(b"") == find_last_error(b"\n \n") == ""
    assert find_last_error(b"caf\xff\n") == "caf\ufffd"


def test_of_an_exception_group_the_innermost_exception_counts() -> None:
    first, second = (find_last_error(GROUP % each) for each in ((3, 1, 0), (99, 7, 6)))
    assert first.startswith("json.decoder.JSONDecodeError: Expecting value")
    assert name_crash("exit 1", first) == name_crash("exit 1", second)
    inner = GROUP.replace(b"json.decoder.JSONDecodeError: Expecting value", b"KeyError: x")
    assert name_crash("exit 1", find_last_error(inner % (1, 1, 1))) != name_crash("exit 1", first)


def test_only_the_end_of_a_long_stderr_is_read() -> None:
    assert find_last_error(b"KeyError: early\n" + b"x\n" * 50_000 + b"last words\n") == "last words"
