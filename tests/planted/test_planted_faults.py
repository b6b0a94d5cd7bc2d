"""Each planted fault shows in one hand-written session, in which the healthy base does not fail.

A trigger is raw stdin. What a gateway did with it is written down as the actions that ran and the
bytes that it sent, or the name of the exception that killed it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import pytest

from wirefence.fuzz.examination.examiner import Examiner, GatewayTarget
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.strategies.contract import Contract
from wirefence.targets.planted import BY_NAME, HEALTHY, PLANTED, Planted, render

ROOT = Path(__file__).resolve().parents[2]
TOKEN = b'"_meta":{"wirefence/token":"operator-secret-7f3a"}'
ORACLE_RULES = {
    *("act-rejected", "act-unauthorized", "act-twice", "act-after-close", "act-altered"),
    *("act-missing", "act-unfounded", "act-early", "reply-id", "reply-code", "reply-twice"),
    *("reply-to-notification", "reply-missing", "reply-to-rejected", "reply-leak"),
    *("out-not-json", "out-not-message", "out-unterminated", "session-resync", "session-state"),
    *("live-crash", "live-hang", "live-memory"),
}
TERMS = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"%b",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
)
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
)
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
HELLO = INITIALIZE + READY
BAD = b"{\n"


def call(action: bytes, ident: bytes = b"1", more: bytes = b"", tool: bytes = b"record") -> bytes:
    """One tools/call as a line; ``more`` are further raw arguments, each after a comma."""
    return (
        b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":{"name":"%b","arguments":'
        b'{"action":"%b"%b}}}\n' % (ident, tool, action, more)
    )


def swap(line: bytes, old: bytes, new: bytes) -> bytes:
    assert line.count(old) == 1, (line, old)
    return line.replace(old, new)


def admin(action: bytes, meta: bytes = b"", ident: bytes = b"1") -> bytes:
    """One call of the operator's tool, with a raw ``_meta`` member."""
    plain = call(action, ident, tool=b"admin_reset")
    return swap(plain, b'"params":{', b'"params":{%b,' % meta) if meta else plain


@dataclass(frozen=True, slots=True)
class Seen:
    """What a gateway did: tool and arguments of each effect, stdout, and what killed it."""

    effects: tuple[tuple[str, dict[str, object]], ...]
    stdout: bytes
    error: str = ""

    @property
    def actions(self) -> list[object]:
        return [arguments.get("action") for _, arguments in self.effects]


def run(fault: Planted, *chunks: bytes) -> Seen:
    """Feed ``chunks`` to a session of ``fault``, under its own terms, and end stdin."""
    terms = Contract(version=fault.version, policy=fault.policy)
    effects: list[tuple[str, dict[str, object]]] = []
    out = b""
    try:
        gateway = fault.factory(lambda tool, args: effects.append((tool, dict(args))), terms)
        for chunk in chunks:
            out += gateway.feed(chunk)
        out += gateway.eof()
    except Exception as error:  # noqa: BLE001 - any escape is what is looked for
        return Seen(tuple(effects), out, type(error).__name__)
    return Seen(tuple(effects), out)


@dataclass(frozen=True, slots=True)
class Trigger:
    """Chunks that follow the handshake, and the actions with the fault and without it.

    ``sent`` is part of the stdout of the faulty gateway and never of the healthy one's.
    """

    chunks: tuple[bytes, ...]
    faulty: tuple[str, ...] = ()
    healthy: tuple[str, ...] = ()
    sent: bytes = b""
    error: str = ""
    handshake: bytes = HELLO


def trigger(
    *chunks: bytes,
    faulty: str = "",
    healthy: str = "",
    sent: bytes = b"",
    error: str = "",
    handshake: bytes = HELLO,
) -> Trigger:
    acted = tuple(faulty.split()), tuple(healthy.split())
    return Trigger(chunks, *acted, sent=sent, error=error, handshake=handshake)


HIDDEN = b'{"jsonrpc":"2.0",\r%b\r"method":"ping","id":9}\n' % call(b"a").rstrip()
SEPARATED = b'{"note":"\xe2\x80\xa8%b\xe2\x80\xa8"}\n' % call(b"a").rstrip()
BATCH = b"[%b,{}]\n" % call(b"a").rstrip()
DUPLICATE = swap(call(b"a"), b'"action":"a"', b'"action":"a","action":"b"')
DEEP = b"[" * 100_000 + b"]" * 100_000 + b"\n"
HUGE = call(b"a", more=b',"count":' + b"7" * 4301)
LONG = call(b"a", more=b',"note":"%b"' % (b"x" * 1_048_576))
UNKNOWN = swap(call(b"a"), b'"jsonrpc"', b'"extra":1,"jsonrpc"')

TRIGGERS: dict[str, Trigger] = {
    "skips-bad-lines": trigger(BAD, call(b"a"), faulty="a"),
    "splits-at-bare-cr": trigger(HIDDEN, faulty="a"),
    "splits-at-line-separators": trigger(SEPARATED, faulty="a"),
    "takes-cr-lf": trigger(call(b"a").replace(b"\n", b"\r\n"), faulty="a"),
    "strips-unicode-space": trigger(b"\x0c\xc2\xa0" + call(b"a"), faulty="a"),
    "acts-on-unterminated-line": trigger(call(b"a").rstrip(), faulty="a"),
    "acts-before-line-feed": trigger(call(b"a").rstrip(), b" log\n", faulty="a"),
    "repairs-at-eof": trigger(call(b"a").rstrip(b"}\n"), faulty="a"),
    "buffers-without-bound": trigger(LONG, faulty="a"),
    "loses-split-frames": trigger(call(b"a")[:20], call(b"a")[20:], healthy="a"),
    "swallows-next-frame": trigger(BAD, call(b"a"), healthy="a"),
    "decodes-with-replacement": trigger(call(b"a", more=b',"note":"\xff"'), faulty="a"),
    "takes-byte-order-mark": trigger(b"\xef\xbb\xbf" + call(b"a"), faulty="a"),
    "tutorial-form": trigger(b"\xff\n", error="UnicodeDecodeError"),
    "ignores-trailing-garbage": trigger(swap(call(b"a"), b"\n", b" log\n"), faulty="a"),
    "reads-concatenated-values": trigger(
        swap(call(b"a"), b"\n", b" ") + call(b"b", b"2"), faulty="a b"
    ),
    "takes-nan": trigger(call(b"a", more=b',"ratio":NaN'), faulty="a"),
    "takes-half-numbers": trigger(call(b"a", more=b',"ratio":0.'), faulty="a"),
    "overflows-to-infinity": trigger(call(b"a", more=b',"ratio":1e400'), faulty="a"),
    "takes-control-characters": trigger(call(b"a", more=b',"note":"\t"'), faulty="a"),
    "takes-trailing-commas": trigger(call(b"a", more=b","), faulty="a"),
    "last-duplicate-wins": trigger(DUPLICATE, faulty="b"),
    "first-duplicate-wins": trigger(DUPLICATE, faulty="a"),
    "folds-case-of-members": trigger(swap(call(b"a"), b"method", b"Method"), faulty="a"),
    "dies-on-deep-nesting": trigger(DEEP, error="RecursionError"),
    "dies-on-huge-integer": trigger(HUGE, error="ValueError"),
    "dies-on-lone-surrogate": trigger(
        call(b"a", b'"\\ud800"'), faulty="a", error="UnicodeEncodeError"
    ),
    "takes-boolean-id": trigger(call(b"a", b"true"), faulty="a", sent=b'"id":true'),
    "takes-float-id": trigger(call(b"a", b"1.0"), faulty="a", sent=b'"id":1.0'),
    "takes-null-id-for-notification": trigger(call(b"a", b"null"), faulty="a"),
    "evaluates-string-params": trigger(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}\n'
        % json.dumps('{"name":"record","arguments":{"action":"a"}}').encode(),
        faulty="a",
    ),
    "acts-on-hybrids": trigger(swap(call(b"a"), b'"id"', b'"result":{},"id"'), faulty="a"),
    "ignores-version-member": trigger(swap(call(b"a"), b"2.0", b"1.0"), faulty="a"),
    "ignores-unknown-members": trigger(UNKNOWN, faulty="a"),
    "executes-batch-eagerly": trigger(BATCH, faulty="a"),
    "takes-batch-in-any-version": trigger(b"[%b]\n" % call(b"a").rstrip(), faulty="a"),
    "acts-before-initialize": trigger(call(b"a"), faulty="a", handshake=b""),
    "acts-on-notified-call": trigger(swap(call(b"a"), b'"id":1,', b""), faulty="a"),
    "ignores-requested-version": trigger(
        swap(call(b"a"), b'"params":{', b'"params":{%b,' % TERMS % b"2025-11-25"),
        faulty="a",
        handshake=b"",
    ),
    "takes-second-initialize": trigger(HELLO + call(b"a", b"2"), faulty="a", sent=b'"id":2'),
    "takes-reused-id": trigger(call(b"a"), call(b"b"), faulty="a b", healthy="a"),
    "acts-after-close": trigger(BAD, call(b"a"), faulty="a"),
    "keeps-half-request": trigger(
        call(b"a", b"null", b',"url":"x"'), call(b"b", b"2"), faulty="b", healthy="b"
    ),
    "keeps-permission": trigger(admin(b"a", TOKEN, b"null"), admin(b"b"), faulty="b"),
    "remembers-operator": trigger(
        admin(b"a", TOKEN), admin(b"b", ident=b"2"), faulty="a b", healthy="a"
    ),
    "takes-wrong-token-for-none": trigger(
        swap(call(b"a"), b'"params":{', b'"params":{"_meta":{"wirefence/token":"no"},'), faulty="a"
    ),
    "executes-before-authorization": trigger(admin(b"a"), faulty="a"),
    "retries-as-operator": trigger(admin(b"a"), faulty="a"),
    "acts-twice": trigger(call(b"a"), faulty="a a", healthy="a"),
    "reports-without-acting": trigger(call(b"a"), healthy="a"),
    "runs-self-test": trigger(faulty="self-test"),
    "merges-unknown-arguments": trigger(call(b"a", more=b',"sudo":true'), faulty="a"),
    "coerces-arguments": trigger(call(b"a", more=b',"count":"3"'), faulty="a"),
    "tidies-arguments": trigger(call(b"a", more=b',"note":" x "'), faulty="a", healthy="a"),
    "remembers-id-of-rejected": trigger(UNKNOWN, call(b"a"), healthy="a"),
    "keeps-handshake-of-rejected": trigger(
        swap(INITIALIZE, b'"2025-11-25"', b"1") + READY + call(b"a"), faulty="a", handshake=b""
    ),
    "replies-to-notifications": trigger(sent=b'"id":null'),
    "crosses-replies": trigger(
        call(b"a"), faulty="a", healthy="a", sent=b'"id":"i","result":{"content"'
    ),
    "sends-ids-as-strings": trigger(call(b"a"), faulty="a", healthy="a", sent=b'"id":"1"'),
    "answers-twice": trigger(call(b"a"), faulty="a", healthy="a"),
    "uses-one-error-code": trigger(BAD, sent=b"-32603"),
    "is-silent-on-refusal": trigger(admin(b"a")),
    "answers-rejected-with-result": trigger(UNKNOWN, sent=b'"isError":true'),
    "leaks-frame-in-error": trigger(UNKNOWN, sent=b"Traceback"),
    "prints-banner": trigger(sent=b"mini gateway 1.0 ready\n"),
    "logs-json-to-stdout": trigger(sent=b'{"event":"replied","level":"info"}\n'),
    "forgets-line-feed": trigger(call(b"a"), faulty="a", healthy="a", sent=b"}{"),
    "pretty-prints-replies": trigger(sent=b"{\n"),
    "writes-nan": trigger(sent=b"NaN"),
}


MORE: dict[str, Trigger] = {
    "acts-before-line-feed": trigger(call(b"a").rstrip(), b"\n"),
    "splits-at-bare-cr": trigger(HIDDEN, call(b"b", b"2")),
    "splits-at-line-separators": trigger(BAD, call(b"a", more=b',"note":"\xe2\x80\xa8"')),
    "tutorial-form": TRIGGERS["takes-cr-lf"],
    "dies-on-deep-nesting": trigger(
        call(b"a", more=b',"options":{"x":%b%b}' % (b"[" * 200, b"]" * 200))
    ),
    "dies-on-huge-integer": trigger(call(b"a", more=b',"count":9007199254740993')),
    "takes-boolean-id": trigger(call(b"a", b"true"), call(b"b", b"2")),
    "takes-float-id": trigger(call(b"a", b"1.0"), call(b"b", b"2")),
    "takes-reused-id": trigger(call(b"a"), call(b"b"), call(b"c", b"2")),
    "keeps-permission": trigger(admin(b"a", TOKEN, b"null"), admin(b"b"), call(b"c", b"3")),
    "keeps-handshake-of-rejected": trigger(
        *TRIGGERS["keeps-handshake-of-rejected"].chunks, HELLO, call(b"b", b"2"), handshake=b""
    ),
}
"""Sessions that show what else a fault breaks, after its trigger."""

MEASURED = {"live-memory"}
"""What is seen only of lines longer than any session here: tests of campaigns show it."""


def healthy(fault: Planted) -> Planted:
    """The base, under the terms of ``fault``."""
    return replace(HEALTHY, policy=fault.policy, version=fault.version)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_a_fault_shows_in_its_trigger_session(fault):
    session = TRIGGERS[fault.name]
    seen = run(fault, session.handshake, *session.chunks)
    assert (tuple(seen.actions), seen.error) == (session.faulty, session.error)
    assert session.sent in seen.stdout


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_the_base_does_otherwise_in_the_same_session(fault):
    session = TRIGGERS[fault.name]
    seen = run(healthy(fault), session.handshake, *session.chunks)
    assert (tuple(seen.actions), seen.error) == (session.healthy, "")
    assert not session.sent or session.sent not in seen.stdout
    assert seen != run(fault, session.handshake, *session.chunks)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_a_fault_leaves_a_plain_handshake_alive(fault):
    assert run(fault, HELLO).error == ""


def broken_by(fault: Planted, session: Trigger) -> set[str]:
    """The rules that the oracles see broken in a session of ``fault``, under its own terms.

    Actions get names that stand nowhere else in a frame, as the oracles trace effects by them.
    """
    chunks = [
        re.sub(rb'(\\?")([abc])\1', rb"\1action-\2\1", chunk)
        for chunk in (session.handshake, *session.chunks)
    ]
    cuts = list(accumulate(map(len, chunks)))[:-1]
    case = case_from_bytes(b"".join(chunks), protocol=fault.version, cuts=cuts)
    target = GatewayTarget(fault.name, fault.factory, fault.policy)
    return {each.rule for each in Examiner((), [[target]]).examine_case(case)}


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_each_oracle_rule_that_a_fault_claims_to_break_is_seen_broken(fault):
    sessions = [TRIGGERS[fault.name], *filter(None, [MORE.get(fault.name)])]
    seen = set().union(*(broken_by(fault, session) for session in sessions))
    assert ORACLE_RULES.intersection(fault.breaks) - MEASURED <= seen
    for session in sessions:
        assert broken_by(healthy(fault), session) == set()


def test_every_fault_has_a_trigger_and_a_name_of_its_own():
    assert len(PLANTED) >= 28
    assert len({fault.name for fault in PLANTED}) == len(PLANTED)
    assert set(TRIGGERS) == {fault.name for fault in PLANTED}
    assert set(BY_NAME) == {*TRIGGERS, "healthy"}


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_a_fault_says_what_it_breaks_in_rules_that_exist(fault):
    contract = (ROOT / "docs/contract.md").read_text(encoding="utf-8")
    rules = ORACLE_RULES | {
        row.split("|")[2].strip() for row in contract.splitlines() if "| " in row
    }
    assert fault.title
    assert fault.origin
    assert fault.breaks
    assert set(fault.breaks) <= rules
    assert fault.breaks[0] in ORACLE_RULES


def test_the_page_of_faults_is_rendered_from_the_registry():
    assert (ROOT / "docs/planted.md").read_text(encoding="utf-8") == render(PLANTED)
