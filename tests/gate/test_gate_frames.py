"""What the gate sends: names that are nobody else's, calls in the words of the server's tool."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import pytest

from wirefence.fuzz.gate.records import NominatedTool
from wirefence.fuzz.gate.server.declared_tools import choose_tool, declare_tool
from wirefence.fuzz.gate.server.fresh import prepare_trial
from wirefence.fuzz.gate.trials.messages import (
    ToolWording,
    TrialNames,
    rename_tokens,
    strip_names,
    tokens_in,
)
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.session import judge_session
from wirefence.strategies.damage import OPERATORS


def call(nominee: NominatedTool, role: str = "t"):
    wording, names = ToolWording.of(nominee), TrialNames(7)
    made = wording.make_call("2025-11-25", names.request_id(role), names.action_name(role))
    worded = wording.reword_calls(made.raw)
    assert wording.reword_calls(worded) == worded  # as what is damaged in the server's words is
    return json.loads(worded, object_pairs_hook=once), names.action_name(role)


def once(members):
    assert len(dict(members)) == len(members)
    return dict(members)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"name":"{nonce}"}', {"name": "N"}),
        ('{"path":"d/{nonce}.txt","mode":1}', {"mode": 1, "path": "d/N.txt"}),
        ('{"path":"{nonce}","content":"{nonce}"}', {"path": "N", "content": "N"}),
        ('{"list":[{"name":"{nonce}"}]}', {"list": [{"name": "N"}]}),
        ('{"fixed":true}', {"fixed": True}),
        ('{"action":"create","name":"{nonce}"}', {"action": "create", "name": "N"}),
        ('{"kind":"record","text":"{nonce}"}', {"kind": "record", "text": "N"}),
        ('{"text":"{nonce}","of":["Action"]}', {"of": ["Action"], "text": "N"}),
        ('{"record":"{nonce}","action":1}', {"action": 1, "record": "N"}),
        ('{"action":"a/{nonce}b"}', {"action": "a/Nb"}),
        ('{"list":[{"action":"{nonce}"}]}', {"list": [{"action": "N"}]}),
        ('{"x":"\\"record","text":"{nonce}\\"action"}', {"x": '"record', "text": 'N"action'}),
    ],
)
@pytest.mark.parametrize("tool", ["a tool", "act", "action", "record", "admin_reset"])
def test_a_good_call_is_worded_as_it_was_nominated(arguments, sent, tool):
    message, nonce = call(NominatedTool(tool, arguments))
    assert message["params"]["name"] == tool
    assert message["params"]["arguments"] == json.loads(json.dumps(sent).replace("N", nonce))


def test_a_call_that_damage_hides_is_one_that_the_server_would_execute(bench):
    trial = bench().trial("concat-nothing")
    hidden = [t for t in tokens_in(trial.case.data) if t.endswith(b"tx")]
    assert b'"name":"record","arguments":{"action":"%b"}' % hidden[0] in trial.case.data


def test_the_whole_vocabulary_of_damage_is_sent(bench):
    made = bench()
    names = {trial.name for trial in made.maker.make_damaged(count(1))}
    names |= {trial.name for trial in make_shaped(made)}
    missing = {operator.name for operator in OPERATORS if not operator.heavy} - names
    # What this tool, version and session do not have can't be damaged.
    elsewhere = {each.name for each in OPERATORS if made.maker.version not in each.versions}
    unsaid = {each for each in missing if each.startswith(("unnamed-", "named-"))}
    assert missing - elsewhere - unsaid == {
        *("chunk-in-character", "confuse-task", "confuse-token", "encoding-surrogate-token"),
        *("shape-value", "shape-excess"),  # the methods of this server have no place for the one
    }


def make_shaped(made):
    facts = replace(made.facts, promised=("tools/call", "tools/list"))
    return list(replace(made.maker, facts=facts).make_shaped(count(1)))


def test_no_sound_call_has_other_arguments_than_the_user_nominated(bench):
    """What is sent for a sound call is done: to a path that nobody chose, for example."""
    made = bench()
    again = (replace(made.maker, seed=seed, varied=bool(seed)) for seed in range(3))
    trials = [trial for maker in again for trial in maker.make_damaged(made.numbers)]
    contract = made.facts.make_contract("spec")
    for trial in [*trials, *make_shaped(made)]:
        for each in prepare_trial(trial, contract).judgement.calls():
            assert set(each.arguments) <= {"action"}, trial.name
            for value in each.arguments.values():
                assert tokens_in(str(value).encode("utf-8", "replace")), trial.name


def test_every_trial_but_the_last_words_ends_in_a_sentinel_that_is_owed(bench):
    made = bench()
    contract = made.facts.make_contract("strict")
    for trial in made.maker.make_damaged(count(1)):
        if trial.eof or not trial.warm:
            continue
        last = prepare_trial(trial, contract).judgement.frames[-1]
        assert last.method == "ping" or last.rule, trial.name


def test_names_can_be_made_equal_and_made_anew():
    raw = b'{"id":"%b","x":"%b"}' % (
        TrialNames(3).action_name("t").encode(),
        TrialNames(4).action_name("tx").encode(),
    )
    assert strip_names(raw) == b'{"id":"wf0000c000000t","x":"wf0000c000000tx"}'
    anew = rename_tokens(raw, 123)
    assert len(anew) == len(raw)
    part, own = sorted(tokens_in(anew), key=len)
    assert own == TrialNames(123).action_name("tx").encode()
    # A trial before it in one session keeps a name of its own.
    assert part.endswith(b"t")
    assert not own.startswith(part[:-1])
    assert part not in tokens_in(raw) | tokens_in(rename_tokens(raw, 124))


@pytest.mark.parametrize(
    ("tool", "chosen"),
    [
        ({"annotations": {"readOnlyHint": True}, "inputSchema": {}}, True),
        ({"annotations": {"readOnlyHint": True}, "inputSchema": {"required": ["a"]}}, False),
        ({"annotations": {"readOnlyHint": False}, "inputSchema": {}}, False),
        ({"inputSchema": {}}, False),
    ],
)
def test_nothing_is_called_unasked_but_what_says_that_it_only_reads(tool, chosen):
    assert bool(choose_tool([{"name": "x", **tool}])) == chosen


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"properties": {"a": {"type": "string"}}}, "number unknown"),
        (
            {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
            "schema unknown",
        ),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, "fits fits"),
        ({"properties": {"a": {"type": "string"}}, "additionalProperties": True}, "number fits"),
        ({"properties": {"a": {"type": "string"}}, "patternProperties": {"^b": {}}}, "number fits"),
        ({"properties": {"a": {"pattern": "^[a-z0-9]+$"}}}, "fits unknown"),
        ({"properties": {"a": {"pattern": "(?!x)"}}}, "any unknown"),
        ({"properties": {"a": {}}, "additionalProperties": False}, "fits unknown"),
        ({"properties": {"a": {"type": "integer"}}}, "any any"),
        ({"properties": {"b": {"type": "string"}}}, "any any"),
        ({}, "any any"),
        ({"properties": {"a": {}}, "required": 5}, "any unknown"),
    ],
)
def test_the_schema_of_a_tool_decides_unless_it_refuses_what_the_user_gives(bench, schema, told):
    """Another type of ``a``, then an argument that it does not name."""
    nominee = NominatedTool("x", '{"a":"{nonce}"}')
    tool = declare_tool({"name": "x", "inputSchema": schema}, nominee)
    facts = replace(bench().facts, tool=tool)
    found = []
    for arguments in ('{"a":5}', '{"a":"v","b":1}'):
        call = (
            b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x","arguments":%b}}'
        )
        opened = b"".join(f.raw for f in bench().maker.make_handshake(TrialNames(1)))
        data = opened + call % arguments.encode() + b"\n"
        contract = facts.make_contract("strict")
        last = judge_session(data, contract).frames[-1]
        trait = find_deviation(data, last, contract).partition(":")[2]
        names = {"": "any" if last.reply == "either" else "fits", "other": "unknown"}
        found.append(names.get(trait, trait))
    assert " ".join(found) == told


@pytest.mark.parametrize("tool", ["record", "a tool with a longer name"])
def test_pauses_stay_where_the_damage_put_them(bench, tool):
    made = bench()
    nominee = NominatedTool(tool, '{"text":"say {nonce}"}')
    maker = replace(made.maker, wording=ToolWording.of(nominee))
    trials = {t.name: t for t in maker.make_damaged(count(1)) if t.family == "chunking"}
    data, cuts = trials["chunk-frame"].case.data, trials["chunk-frame"].case.cuts
    assert cuts
    assert {data[cut - 1 : cut] for cut in cuts} == {b"\n"}
    assert {name for name, trial in trials.items() if not trial.case.cuts} == {"chunk-one-write"}
