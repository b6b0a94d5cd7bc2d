"""A document that kills or hangs its process is found, and those around it keep their outcomes."""

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wirefence.targets.errors import TargetError
from wirefence.targets.parsers import worker
from wirefence.targets.parsers.canonical import encode_value
from wirefence.targets.parsers.configs import BY_NAME
from wirefence.targets.parsers.outcomes import outcomes_of
from wirefence.targets.parsers.worker import isolated_outcomes
from wirefence.targets.records import Outcome

# A child whose `ujson` dies or hangs on command; the parent knows nothing of it.
DEADLY = """
import os, signal, sys, time
from dataclasses import replace
from wirefence.targets.parsers import worker

def parse(raw):
    if raw == b"segv":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if raw == b"exit":
        os._exit(7)
    if raw == b"hang":
        time.sleep(600)
    if raw == b"half":
        os.write(3, b"XX")  # the copy of stdout that answers go through
        time.sleep(600)
    if raw == b"nest":
        value = []
        for _ in range(1_998):
            value = [value]
        return value
    print("noise on stdout", flush=True)
    return [raw.decode()]

worker.BY_NAME["ujson"] = replace(worker.BY_NAME["ujson"], parse=parse)
worker._main(int(sys.argv[1]))
"""
CONFIGS = [BY_NAME["json"], BY_NAME["ujson"]]


@pytest.fixture(autouse=True)
def own_children(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has children of its own: those of other tests run other commands."""
    monkeypatch.setattr(worker, "_children", {})
    yield
    for child in worker._children.values():
        child.close()


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "deadly.py"
    script.write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", str(worker._PLACE))
    monkeypatch.setattr(worker, "_COMMAND", (sys.executable, str(script)))


@pytest.mark.parametrize(
    ("raw", "error"),
    [(b"segv", "SIGSEGV"), (b"exit", "exit 7"), (b"hang", "timeout"), (b"half", "timeout")],
)
@pytest.mark.usefixtures("deadly")
def test_the_guilty_document_is_named_and_the_others_go_on(raw: bytes, error: str) -> None:
    before, guilty, after = isolated_outcomes(CONFIGS, [b"1", raw, b"2"], timeout=3.0)
    assert guilty[1] == Outcome("death", b"", error)
    assert guilty[0].kind == "reject"
    assert [seen.kind for seen in (*before, *after)] == ["accept"] * 4


def test_outcomes_in_a_child_are_those_in_this_process() -> None:
    raws = [b'{"a":[1,1.0,"\\u00e9"]}', b"[1,]", b"\xff", b"", b"[NaN]"]
    configs = list(BY_NAME.values())
    here = [outcomes_of(configs, raw) for raw in raws]
    assert isolated_outcomes(configs, raws) == here


def test_deep_nesting_is_an_outcome_even_on_a_small_stack() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    seen = isolated_outcomes(CONFIGS, [deep, b"[]"], thread_stack=256 * 1024)
    assert [one.kind for one in seen[1]] == ["accept", "accept"]
    assert all(one.kind != "accept" for one in seen[0])


@pytest.mark.usefixtures("deadly")
def test_a_value_that_needs_more_stack_than_its_parser_is_no_death_of_it() -> None:
    nested: list[object] = []
    for _ in range(1_998):
        nested = [nested]
    seen = isolated_outcomes(CONFIGS, [b"nest"], thread_stack=256 * 1024)[0]
    assert seen[1] == Outcome("accept", encode_value(nested))


def test_what_a_parser_raises_in_a_thread_is_its_outcome() -> None:
    raws = [b"[1,", b"\xff", b"[1]", b"[" * 5_000]
    here = [outcomes_of(CONFIGS, raw) for raw in raws]
    assert isolated_outcomes(CONFIGS, raws, thread_stack=1024 * 1024) == here


def test_a_child_that_ended_while_it_had_nothing_to_do_is_no_death_of_a_parser() -> None:
    isolated_outcomes(CONFIGS, [b"1"])
    worker._children[0].process.kill()
    worker._children[0].process.wait()
    assert [one.kind for one in isolated_outcomes(CONFIGS, [b"1"])[0]] == ["accept"] * 2


def test_a_child_that_does_not_start_is_no_death_of_a_parser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_COMMAND", (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(TargetError, match="exit 3"):
        isolated_outcomes(CONFIGS, [b"1"])


def test_a_living_child_is_kept_and_a_dead_one_is_not() -> None:
    isolated_outcomes(CONFIGS, [b"1"])
    first = worker._children[0]
    isolated_outcomes(CONFIGS, [b"2"])
    assert worker._children[0] is first
    first.close()
    assert isolated_outcomes(CONFIGS, [b"3"])[0][0].kind == "accept"
    assert worker._children[0] is not first


def test_at_the_end_what_lives_is_closed_and_dead_children_are_not_kept() -> None:
    before = atexit._ncallbacks()
    for _ in range(3):
        isolated_outcomes(CONFIGS, [b"1"])
        last = worker._children[0]
        last.process.kill()
    isolated_outcomes(CONFIGS, [b"1"])
    assert last.dead
    assert atexit._ncallbacks() == before
    code = """if True:
        from wirefence.targets.parsers import worker
        class Child:
            def close(self): print("closed")
        worker._children[0] = Child()
        """
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=worker._PLACE, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"closed\n"


def test_no_configurations_give_empty_rows() -> None:
    assert isolated_outcomes([], [b"1", b"2"]) == [[], []]


def test_ctrl_c_is_for_the_parent_alone() -> None:
    before = isolated_outcomes(CONFIGS, [b"1"])
    first = worker._children[0]
    first.process.send_signal(signal.SIGINT)
    assert isolated_outcomes(CONFIGS, [b"1"]) == before
    assert worker._children[0] is first


def test_ctrl_c_at_the_terminal_is_for_the_parent_alone() -> None:
    isolated_outcomes(CONFIGS, [b"1"])
    (child,) = worker._children.values()
    assert os.getsid(child.process.pid) != os.getsid(0)
