"""Rules of the gate's judge on made sessions: each is broken by bytes, and kept by their kin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gate.paper import CALLED, HELLO, Paper, ident, line, request
from wirefence.fuzz.gate.records import Observation
from wirefence.oracles.liveness import MEMORY_PER_BYTE, MEMORY_SLACK
from wirefence.strategies.contract import UNREADABLE
from wirefence.strategies.records import Frame
from wirefence.targets.effects.records import Observed

ERROR = {"code": -32000, "message": "no"}
TRACE = "Traceback (most recent call last):\n  File"


@pytest.fixture
def good(bench) -> Paper:
    made = bench()
    return Paper.of(made, made.trial("good"))


@pytest.fixture
def bad(bench) -> Paper:
    """A session with a line of log in it."""
    made = bench()
    return Paper.of(made, made.trial("ugly-debug-line"))


def test_what_is_served_well_shows_nothing(good, bad):
    for paper in (good, bad):
        control = Observation(good.lines(), effects=(good.acted(),))
        assert paper.shows(Observation(paper.lines(), effects=(paper.acted(),)), control) == set()


def test_a_call_that_succeeds_and_does_nothing_is_found(bad, good):
    control = Observation(good.lines(), effects=(good.acted(),))
    idle = Observation(bad.lines())
    assert bad.shows(idle, control) == {"act-missing|none"}
    failed = line(ident(bad.number, "p"), result={**CALLED, "isError": True})
    assert "act-missing|none" not in bad.shows(Observation(bad.lines(p=failed)), control)


def test_a_good_request_that_is_lost_behind_a_bad_frame_is_found(bad, good):
    assert bad.shows(Observation(bad.lines(without="p"))) == {
        "session-resync|json-syntax:foreign-text"
    }
    lost = {"reply-missing:tools/call|none"}
    assert good.shows(Observation(good.lines(without="p"))) == lost


def test_a_traceback_in_a_reply_is_found(good):
    said = {"content": [{"type": "text", "text": TRACE}]}
    leaks = good.lines(p=line(ident(good.number, "p"), result=said))
    assert good.shows(Observation(leaks)) == {"reply-leak:traceback|none"}


def test_memory_without_bound_is_found(good):
    size = len(good.trial.case.data)
    bound = good.facts.peak_bytes + MEMORY_SLACK + MEMORY_PER_BYTE * size
    assert good.shows(Observation(good.lines(), peak_bytes=bound)) == set()
    assert good.shows(Observation(good.lines(), peak_bytes=bound + 1)) == {"live-memory:peak|none"}


def test_a_result_for_a_rejected_frame_that_is_no_call_is_found(good):
    raw = request(good.number, "t", "ping").replace(b'"params"', b'"x":1,"params"')
    paper = good.with_frames(raw)
    taken = line(ident(good.number, "t"), result={})
    told = {"reply-to-rejected|rpc-unknown-member:other"}
    assert paper.shows(Observation(paper.lines(taken))) == told
    assert (
        paper.shows(Observation(paper.lines(line(ident(good.number, "t"), error=ERROR)))) == set()
    )


def test_a_call_that_had_to_be_rejected_acted_unless_it_failed(good):
    call = request(good.number, "t", "tools/call", '{"name":"record","arguments":{"action":"x"}}')
    paper = good.with_frames(call.replace(b'"jsonrpc":"2.0"', b'"jsonrpc":"1.0"'))
    name = ident(good.number, "t")
    taken = Observation(paper.lines(line(name, result=CALLED)))
    assert paper.shows(taken) == {"act-rejected|rpc-version:string"}
    failed = Observation(paper.lines(line(name, result={**CALLED, "isError": True})))
    assert paper.shows(failed) == {"reply-to-rejected|rpc-version:string"}


def test_each_member_of_a_batch_is_answered_as_if_it_were_alone(good):
    number = good.number
    raw = b"[%b,%b]\n" % (
        request(number, "t", "tools/list")[:-1],
        request(number, "u", "tools/call", '{"name":"none","arguments":{}}')[:-1],
    )
    paper = good.with_frames(raw, version="2025-03-26")

    def shows(listed: dict, called: dict) -> set[str]:
        parts = (line(ident(number, "t"), **listed), line(ident(number, "u"), **called))
        return paper.shows(Observation(paper.lines(b"[%b,%b]" % parts)))

    tools, no = {"result": {"tools": []}}, {"error": {"code": -32602, "message": "no"}}
    assert shows(tools, no) == set()
    assert shows(tools, {"result": CALLED}) == {"act-rejected|tool-unknown:other"}
    assert shows({"result": CALLED}, no) == {"reply-id:crossed|none"}
    assert shows({"error": ERROR}, no) == {"reply-code:refused|none"}


def test_an_error_for_a_good_request_is_found(good):
    refused = Observation(good.lines(p=line(ident(good.number, "p"), error=ERROR)))
    assert good.shows(refused) == {"reply-code:refused|none"}
    # Where there is a control session, it decides.
    assert "reply-code:refused|none" not in good.shows(refused, refused)


def test_a_result_for_a_refused_request_that_is_no_call_is_found(bench):
    made = bench()
    paper = Paper.of(made, made.trial("good"))
    meta = '"io.modelcontextprotocol/%s":%s'
    parts = (meta % ("protocolVersion", '"2099-01-01"'), meta % ("clientCapabilities", "{}"))
    raw = request(paper.number, "t", "tools/list", f'{{"_meta":{{{",".join(parts)}}}}}')
    paper = paper.with_frames(raw, version="2026-07-28")
    # The session around it is of another version: only what is said of this frame counts.
    name = ident(paper.number, "t")
    listed = Observation((line(name, result={"tools": [], "resultType": "complete"}),))
    assert "reply-code:result|mcp-version:unsupported" in paper.shows(listed)
    refused = Observation((line(name, error={"code": -32022, "message": "no"}),))
    assert "reply-code:result|mcp-version:unsupported" not in paper.shows(refused)


def test_an_answer_that_is_that_of_another_method_is_found(good):
    crossed = good.lines(p=line(ident(good.number, "p"), result={"tools": []}))
    assert good.shows(Observation(crossed)) == {"reply-id:crossed|none"}
    hello = good.lines(h=line(ident(good.number, "h"), result={**HELLO, "tools": []}))
    assert good.shows(Observation(hello)) == set()


def test_an_error_without_id_needs_a_frame_that_it_may_be_for(good, bad):
    nameless = line(None, error=ERROR)
    assert good.shows(Observation(good.lines(nameless))) == {"reply-id:null|none"}
    assert bad.shows(Observation(bad.lines(nameless))) == set()


@pytest.mark.parametrize("raw", [b'{"jsonrpc":"2.0","id":null,"result":{}}', b'{"result":{}}'])
def test_a_result_without_id_is_no_message(good, raw):
    [told] = good.shows(Observation(good.lines(raw)))
    assert told.startswith("out-not-message:rpc-")


def test_an_error_for_a_part_of_an_accepted_frame_is_found(good):
    """A reader that looks for requests in strings answers what nobody has asked."""
    hidden = ident(good.number, "tx")
    text = f'{{\\"id\\":\\"{hidden}\\"}}'
    params = f'{{"name":"record","arguments":{{"action":"{text}"}}}}'
    paper = good.with_frames(request(good.number, "t", "tools/call", params))
    served = line(ident(good.number, "t"), result=CALLED)
    assert paper.shows(Observation(paper.lines(served))) == set()
    answered = paper.lines(served, line(hidden, error=ERROR))
    assert paper.shows(Observation(answered)) == {"reply-id:hidden|none"}


@pytest.mark.parametrize(
    ("spelled", "deviation"),
    [
        (lambda raw: raw.decode().encode("utf-16-le"), "json-syntax:utf16-or-utf32"),
        (lambda raw: raw.replace(b'"wf', b'"\\u0077f').replace(b'"2.0"', b"2"), "rpc-version:type"),
    ],
)
def test_an_effect_belongs_to_the_frame_that_hides_its_name(good, spelled, deviation):
    """A name in escapes or in another encoding stands nowhere in the bytes as it is."""
    called = f'{{"name":"record","arguments":{{"action":"{ident(good.number, "t")[:-1]}"}}}}'
    raw = request(good.number, "t", "tools/call", called)[:-1]
    paper = good.with_frames(spelled(raw) + b"\n")
    seen = Observation(paper.lines(), effects=(paper.acted("t"),))
    [told] = paper.shows(seen)
    assert told.partition("|")[0] == "act-rejected"
    assert told == f"act-rejected|{deviation}"


def test_the_error_for_a_rejected_frame_with_the_id_of_a_good_call_is_no_change_of_state(good, bad):
    """The server refuses the frame under its id and serves the call, which has the id as well."""
    probe = ident(bad.number, "p")
    twin = request(bad.number, "p", "tools/call").replace(b'"2.0"', b'"1.0"')
    frames = bad.trial.case.frames
    at = next(i for i, frame in enumerate(frames) if probe.encode() in frame.raw)
    case = replace(bad.trial.case, frames=(*frames[:at], Frame(twin), *frames[at:]))
    shared = replace(bad, trial=replace(bad.trial, case=case))
    control = Observation(good.lines(), effects=(good.acted(),))
    refused = line(probe, error=ERROR)
    usual = shared.lines()
    served = Observation((usual[0], refused, *usual[1:]), effects=(shared.acted(),))
    assert shared.shows(served, control) == set()
    lost = Observation(shared.lines(p=refused))
    assert shared.shows(lost, control) == {"session-state|rpc-version:string"}


def test_a_call_has_acted_twice_where_all_its_effects_come_twice(good):
    """A server that rewrites one file at each call has some writes more or fewer each time."""
    control = Observation(good.lines(), effects=(good.acted(),) * 69)
    assert good.shows(Observation(good.lines(), effects=(good.acted(),) * 73), control) == set()
    assert good.shows(Observation(good.lines(), effects=(good.acted(),) * 138), control) == {
        "act-twice:write|none"
    }


def test_of_several_rejected_frames_a_call_is_charged_with_a_nameless_effect(bench):
    made = bench()
    paper = Paper.of(made, made.trial("gate-trailing-brace", "before"))
    silent = Observation(paper.lines(), effects=(paper.acted(),), fresh=True)
    strange = Observed("files", "rename", b"acts/other")
    assert paper.shows(silent, silent) == set()
    acted = replace(silent, effects=(paper.acted(), strange))
    # Without a word on the initialize before, the server may have taken that one.
    assert paper.shows(acted, silent) == set()
    refused = line(None, error={"code": -32700, "message": "no"})
    acted = replace(acted, lines=paper.lines(refused, refused))
    assert paper.shows(acted, silent) == {"act-unfounded:rename|life-not-initialized:request"}


def test_nothing_is_said_to_be_wrong_with_arguments_that_the_judge_cannot_read(good):
    """Nothing tells whether they fit the tool's schema, so what is missing is missing anyway."""
    frames = good.trial.case.frames
    richer = Frame(frames[2].raw.replace(b'"arguments":{', b'"arguments":{"tags":[],'))
    case = replace(good.trial.case, frames=(*frames[:2], richer, *frames[3:]))
    paper = replace(good, trial=replace(good.trial, case=case))
    seen, control = Observation(paper.lines(without="p")), Observation(good.lines())
    assert paper.shows(seen) == {"reply-missing|tool-unknown-argument:other"}
    tool = replace(paper.facts.tool, input_schema=UNREADABLE)
    unread = replace(paper, facts=replace(paper.facts, tool=tool))
    assert unread.shows(seen) == {"reply-missing:tools/call|none"}
    refused = line(ident(good.number, "p"), error=ERROR)
    assert unread.shows(Observation(paper.lines(p=refused))) == set()
    idle = replace(control, effects=(good.acted(),))
    assert "act-missing|none" in unread.shows(Observation(paper.lines()), idle)


def test_an_id_that_is_used_again_is_found_though_both_results_are_equal(bench):
    made = bench()
    paper = Paper.of(made, made.trial("id-in-flight"))
    again = line(ident(paper.number, "t"), result=CALLED)
    usual = paper.lines(again)
    assert paper.shows(Observation(usual)) == set()
    assert paper.shows(Observation((*usual, again))) == {"act-rejected|life-id-reuse:request"}
    # A target that repeats each reply says nothing of one.
    twice = paper.shows(Observation(usual * 2))
    assert "act-rejected|life-id-reuse:request" not in twice
