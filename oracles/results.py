"""Is a result that of its request, and as the protocol and the tool declare it?

The shapes come from the official schema of the version that the session speaks
(:mod:`oracles.protocol`); what they demand holds under both profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirefence.oracles.document import judge_document
from wirefence.oracles.evidence import Evidence, Reply, has_succeeded, member_of, result_of
from wirefence.oracles.json_schema import fits_schema
from wirefence.oracles.promises import list_promised
from wirefence.oracles.protocol import ShapeFault, find_error_fault, find_result_fault
from wirefence.oracles.protocol.traits import describe_fault, name_trait
from wirefence.oracles.records import Finding, FrameVerdict, ReplyVerdict
from wirefence.strategies.records import VERSIONS, Version

__all__ = [
    "check_error_data",
    "check_result",
    "find_missing_mark",
    "is_broken_promise",
    "list_listings",
    "may_be_unknown",
]

_MARKS: dict[str, str] = {
    "initialize": "protocolVersion",
    "server/discover": "supportedVersions",
    "tools/list": "tools",
    "tools/call": "content",
    "prompts/list": "prompts",
    "prompts/get": "messages",
    "resources/list": "resources",
    "resources/read": "contents",
    "resources/templates/list": "resourceTemplates",
    "completion/complete": "completion",
}
"""A member that the result of each method must have, and no other: how a crossed reply is seen."""

_LISTINGS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
"""The methods that list what a server has."""

_NOT_SERVED = -32601
_OPTIONAL = "resources/templates/list"
"""A server with resources may have no templates, and many do not serve the method then."""

_FIRST_WITH_OUTPUT = "2025-06-18"
_EMPTY = frozenset({"_meta", "resultType"})
"""Members that the result of a request without an answer may have."""


def check_result(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> Iterable[Finding]:
    """Return what is wrong with the result of a request that may be answered with one.

    Rule: ``malformed-result``.
    """
    result = member_of(reply.verdict, "result")
    if find_result_fault(evidence.contract.version, frame.method, result) is not None:
        return _check_shape(evidence, frame, reply)
    tools = evidence.contract.tools if frame.calls else ()
    schema = next((each.output_schema for each in tools if each.name == frame.calls[0].tool), "")
    return _check_output(evidence, schema, reply) if schema else ()


def _check_shape(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> Iterator[Finding]:
    if fault := _find_fault(evidence, frame, member_of(reply.verdict, "result")):
        whole = f"the result of {frame.method}"
        yield _report_fault(evidence, "mcp-result", fault, whole, reply)


def find_missing_mark(evidence: Evidence, method: str, result: dict[str, object]) -> str:
    """Return what a result lacks that looks like that of another method; else ``""``.

    An empty one looks like that of a ping. Of a server that may leave out members it says nothing.
    """
    mark = _MARKS.get(method, "")
    if not mark or mark in result or result.get("resultType", "complete") != "complete":
        return ""
    empty = evidence.exact and result.keys() <= _EMPTY
    other = empty or any(each in result for each in _MARKS.values())
    return mark if other else ""


def check_error_data(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> Iterator[Finding]:
    """Yield what is wrong with an error whose code the version defines.

    Gateways keep docs/contract.md, which asks for codes only.
    """
    error = member_of(reply.verdict, "error")
    if evidence.exact or not isinstance(error, dict):
        return
    if fault := find_error_fault(evidence.contract.version, error):
        whole = f"the error for {frame.method or 'a request'}"
        yield _report_fault(evidence, "mcp-error", fault, whole, reply)


def list_listings(version: Version, hello: dict[str, object]) -> list[str]:
    """Return the listing methods that the capabilities in a result promise."""
    promised = list_promised(version, hello.get("capabilities"))
    return [method for method in _LISTINGS if method in promised]


def is_broken_promise(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> bool:
    """Whether a server says that it does not serve a method which its capabilities promise."""
    if reply.verdict.code != _NOT_SERVED or frame.method not in _LISTINGS or evidence.exact:
        return False
    hellos = (
        each.verdict
        for owed in evidence.owed
        if owed.frame.method in ("initialize", "server/discover") and not owed.frame.rule
        for each in owed.replies
    )
    hello = result_of(next(hellos, ReplyVerdict("")))
    promised = frame.method in list_listings(evidence.contract.version, hello)
    return promised and frame.method != _OPTIONAL


def may_be_unknown(evidence: Evidence, frame: FrameVerdict, reply: Reply) -> bool:
    """Whether a server may say that it does not serve a method, though its kin is promised."""
    return not evidence.exact and frame.method == _OPTIONAL and reply.verdict.code == _NOT_SERVED


def _find_fault(evidence: Evidence, frame: FrameVerdict, result: object) -> ShapeFault | None:
    """Return the fault of a result in the version that the session speaks."""
    version = _find_spoken(evidence)
    if version is None:
        return None
    task = version == "2025-11-25" and _asks_for_task(evidence, frame)
    return find_result_fault(version, frame.method, result, augmented=task)


def _find_spoken(evidence: Evidence) -> Version | None:
    """Return the version that the server chose in this session; ``None`` for an unknown one.

    A server may answer ``initialize`` with another version than the one that it was asked for.
    """
    for owed in evidence.owed:
        if owed.frame.method == "initialize" and not owed.frame.rule:
            for reply in owed.replies:
                said = result_of(reply.verdict).get("protocolVersion")
                if isinstance(said, str):
                    return next((known for known in VERSIONS if known == said), None)
    return evidence.contract.version


def _asks_for_task(evidence: Evidence, frame: FrameVerdict) -> bool:
    """Whether a request is to be run as a task."""
    raw = evidence.data[frame.start : frame.end].rstrip(b"\n")
    sent = judge_document(raw, profile="spec").value
    params = sent.get("params") if isinstance(sent, dict) else None
    return isinstance(params, dict) and "task" in params


def _check_output(evidence: Evidence, schema: str, reply: Reply) -> Iterator[Finding]:
    """Compare what a tool returned with the output schema that it declares.

    Source: MCP 2025-06-18 and later, tools, output schema: servers MUST provide structured results
    that conform to it.
    """
    result = result_of(reply.verdict)
    if not has_succeeded(reply.verdict):
        return
    if (_find_spoken(evidence) or "") < _FIRST_WITH_OUTPUT:
        return
    if "structuredContent" not in result:
        trait, text = "missing", "is missing, though the tool has an output schema"
    elif fits_schema(schema, result["structuredContent"]) == "differs":
        trait, text = "schema", "does not fit the output schema of the tool"
    else:
        return
    yield evidence.make_finding(
        "reply",
        "malformed-result",
        f"mcp-result:structuredContent-{trait}",
        f"the result of tools/call: structuredContent {text}",
        reply.line,
    )


def _report_fault(
    evidence: Evidence, rule: str, fault: ShapeFault, whole: str, reply: Reply
) -> Finding:
    deviation = ":".join(name_trait(rule, fault))
    text = f"{whole}: {describe_fault(fault, whole)}"
    return evidence.make_finding("reply", "malformed-result", deviation, text, reply.line)
