"""A living server: the pipe is full, one fault has one cause, and no trial is lost."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import pytest

from wirefence.fuzz.gate.records import Observation
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import judge_trial

BAD = "ugly-debug-line"
"""A line that is no JSON: what the planted servers of these tests fall over."""
JSON_ERROR = "exit code 1: json.decoder.JSONDecodeError: Expecting value: line N column N (char N)"
FLOODS = """
import json, os, sys
for line in sys.stdin.buffer:
    try:
        asked = json.loads(line)
    except ValueError:
        while True:
            os.write(%d, b"x" * 65_536)
    if "id" in asked:
        reply = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}}
        print(json.dumps(reply), flush=True)
"""


@contextmanager
def living(made) -> Iterator[PipelinedServer]:
    lab = FreshServers(made.launch, made.options)
    warm = PipelinedServer(lab, made.facts)
    try:
        yield warm
    finally:
        warm.close()
        lab.close()


def prepared(made, *names: str) -> list[PreparedTrial]:
    """Good sessions, and trials by name."""
    contract = made.facts.make_contract("strict")
    return [prepare_trial(made.trial(name), contract) for name in names]


def screened(made, trials: list[PreparedTrial]) -> dict[int, Observation]:
    """What was seen of each trial; each must be there once."""
    with living(made) as warm:
        seen = [(each.trial.number, saw) for each, saw in warm.screen_trials(trials, lambda: False)]
    assert Counter(number for number, _ in seen) == Counter(t.trial.number for t in trials)
    return dict(seen)


def faults(made, trials: list[PreparedTrial]) -> dict[str, set[str]]:
    """The signatures that a living server shows, by the names of trials."""
    seen = screened(made, trials)
    shown: dict[str, set[str]] = {}
    for each in trials:
        findings = judge_trial(each, seen[each.trial.number], made.facts)
        told = {finding.signature.partition("|")[2] for finding in findings}
        shown.setdefault(each.trial.name, set()).update(told)
    return shown


GOOD = ("good",) * 6


def test_a_death_in_the_pipe_is_laid_at_the_door_of_one_trial(bench):
    made = bench("DiesOfBadJson")
    shown = faults(made, prepared(made, *GOOD, BAD, *GOOD))
    assert shown == {"good": set(), BAD: {f"live-crash|{JSON_ERROR}"}}


def test_a_hang_in_the_pipe_is_laid_at_the_door_of_one_trial(bench):
    made = bench("HangsOnBadJson", patience=1.5)
    shown = faults(made, prepared(made, *GOOD, BAD, *GOOD))
    assert shown == {"good": set(), BAD: {"live-hang|json-syntax:foreign-text"}}


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_flood_ends_neither_the_screen_nor_the_trials_around_it(bench, descriptor):
    made = bench(patience=1.5, command=(sys.executable, "-S", "-c", FLOODS % descriptor))
    shown = faults(made, prepared(made, *GOOD, BAD, *GOOD))
    assert shown[BAD]
    assert not shown["good"]


def test_what_is_in_doubt_is_sent_again_to_a_server_that_has_not_had_its_ids(bench):
    """A strict server refuses an id that it had, and would seem to hang."""
    made = bench("PrintsTracebacks", patience=3.0)
    trials = prepared(made, *GOOD, BAD, *GOOD)
    assert all(saw.complete for saw in screened(made, trials).values())
    noisy = {"out-not-json:text|none", "reply-leak:traceback|none"}
    assert faults(made, trials) == {"good": set(), BAD: noisy}


def test_replies_that_never_come_are_waited_for_together(bench):
    """A server that answers no ``tools/call`` is asked a dozen; one wait is for all of them."""
    code = FLOODS.replace('"id" in asked', '"id" in asked and asked["method"] != "tools/call"') % 2
    made = bench(patience=60.0, command=(sys.executable, "-S", "-c", code))
    trials = prepared(made, *GOOD, *GOOD)
    with living(made) as warm:
        warm._patient = 1.0
        warm.ensure_running()
        began = time.monotonic()
        seen = list(warm.screen_trials(trials, lambda: False))
        took = time.monotonic() - began
    assert [saw.complete for _, saw in seen] == [False] * 12
    assert took < 12 * 1.0 / 2


def test_pauses_and_megabytes_have_the_server_for_themselves(bench):
    made = bench()
    with living(made) as warm:
        alone, original = [], warm.send_alone
        warm.send_alone = lambda each: (alone.append(each.trial.name), original(each))[1]
        trials = prepared(made, *GOOD, "chunk-frame", *GOOD)
        seen = list(chain(warm.screen_trials(trials, lambda: False)))
    assert alone == ["chunk-frame"]
    assert all(saw.complete for _, saw in seen)
    assert len(seen) == len(trials)


def test_a_death_has_the_name_that_a_fresh_process_gives_it(bench):
    """A server that had logged errors before, of other trials, dies of the last one."""
    made = bench("DiesOfBadJson")
    shown = faults(made, prepared(made, *GOOD, BAD))[BAD]
    assert shown == made.shows(BAD)
