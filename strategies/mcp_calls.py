"""``tools/call``: the one message that can act.

Each call carries its nonce as the ``action`` argument, so that an effect names the
frame that caused it. Refused calls carry theirs too: it must never come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wirefence.strategies.contract import DEFAULT_TOOLS, Argument, Tool
from wirefence.strategies.mcp_message import Message, request
from wirefence.strategies.mcp_values import GENERATORS, OPERATOR, dump, meta, string, token_meta
from wirefence.strategies.records import Version
from wirefence.strategies.source import Source

__all__ = ["PLANS", "Plan", "call"]

Plan = Literal[
    "granted",
    "operator",
    "reset",
    "anonymous-reset",
    "unknown-tool",
    "missing-argument",
    "wrong-type",
    "unknown-argument",
    "wrong-token",
]
PLANS: tuple[Plan, ...] = get_args(Plan)
"""What a call can be after. ``operator`` carries the token without need; all after ``reset`` are
refused (``unknown-argument`` under the strict profile only)."""

Member = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Part:
    """One argument of a tool, ready to be written."""

    name: bytes
    required: bool
    make: Callable[[Source], bytes]


@dataclass(frozen=True, slots=True)
class _Form:
    """A tool, ready to be called."""

    name: bytes
    parts: tuple[_Part, ...]


def _make_part(argument: Argument) -> _Part:
    if argument.choices:
        spelled = [dump(choice) for choice in argument.choices]
        return _Part(
            argument.name.encode(), argument.required, lambda source: source.choice(spelled)
        )
    return _Part(argument.name.encode(), argument.required, GENERATORS[argument.type])


def _make_form(tool: Tool) -> _Form:
    parts = [_make_part(argument) for argument in tool.arguments if argument.name != "action"]
    return _Form(dump(tool.name), tuple(parts))


_OPEN = [_make_form(tool) for tool in DEFAULT_TOOLS if not tool.operator_only]
_RESET = [_make_form(tool) for tool in DEFAULT_TOOLS if tool.operator_only]
_MIX: tuple[tuple[Plan, _Form], ...] = (
    *(("granted", form) for form in _OPEN * 6),
    *(("operator", form) for form in _OPEN),
    *(("reset", form) for form in _RESET * 4),
    *(("anonymous-reset", form) for form in _RESET),
    *((plan, form) for plan in PLANS[4:] for form in _OPEN[:2]),
)
_SETS = (1 << max(len(tool.arguments) for tool in DEFAULT_TOOLS)) - 1
_STRANGERS = (
    *(b'"missing"', b'""', b'"Record"', b'"record "', b'"record\\u0000"', b'"rec\xc2\xadord"'),
    *(b'"tools/call"', b'"admin"', b'"__proto__"', b'"\xd1\x80ecord"'),
)
_WRONG_TOKENS = (
    *(b'""', b'"operator"', b"null", b"true", b"1", b"[]", b"{}", b"[%b]" % OPERATOR),
    *(OPERATOR[:-2] + b'"', OPERATOR[:-1] + b' "', OPERATOR.upper()),
)
_WRONG_VALUES = (b"null", b"[1]", b"[null]")
"""Of no type that any argument has: even an array argument takes strings only."""


def call(
    source: Source, version: Version, nonce: str, ident: bytes, *, plan: Plan | None = None
) -> Message:
    """A ``tools/call`` request with the raw id ``ident``, for the tools of the default contract.

    ``plan`` says what it is after; by default mostly to be granted. The message's nonce is ``""``
    if the argument that is missing, or has a wrong type, is the action itself.
    """
    if plan is None:
        plan, form = source.choice(_MIX)
    else:
        form = source.choice(_RESET if plan.endswith("reset") else _OPEN)
    action = (b"action", dump(nonce))
    members = [action, *_arguments(source, form)]
    if plan in _SPOILERS:
        members = _SPOILERS[plan](source, form, members)
    name = source.choice(_STRANGERS) if plan == "unknown-tool" else form.name
    carried = meta(source, version, *_token(source, plan))
    params = _params(source, version, name, members, carried)
    named = nonce if action in members else ""
    return request("CallToolRequest", ident, b"tools/call", params, named)


def _arguments(source: Source, form: _Form) -> list[Member]:
    # One choice for the whole set, whatever the tool: a call of another tool that took fewer
    # choices would be what Hypothesis shrinks to, in place of the plainest one.
    chosen = source.integer(0, _SETS)
    return [
        (part.name, part.make(source.split()))
        for at, part in enumerate(form.parts)
        if part.required or chosen >> at & 1
    ]


def _token(source: Source, plan: Plan) -> tuple[bytes, ...]:
    if plan in ("operator", "reset"):
        return (token_meta(OPERATOR),)
    return (token_meta(source.choice(_WRONG_TOKENS)),) if plan == "wrong-token" else ()


def _params(
    source: Source, version: Version, name: bytes, members: Sequence[Member], carried: bytes
) -> bytes:
    arguments = b"{%b}" % b",".join([b'"%b":%b' % member for member in members])
    parts = [b'"name":' + name, b'"arguments":' + arguments]
    if carried:
        parts.append(b'"_meta":' + carried)
    if version >= "2025-11-25" and source.chance(1, 16):
        parts.append(_extra(source, version))
    if source.chance(1, 8):
        parts.reverse()
    return b"{%b}" % b",".join(parts)


def _extra(source: Source, version: Version) -> bytes:
    if version == "2025-11-25":
        return source.choice((b'"task":{}', b'"task":{"ttl":60000}'))
    return source.choice((b'"requestState":"s"', b'"inputResponses":{"ask":{"action":"decline"}}'))


def _without_one(source: Source, form: _Form, members: list[Member]) -> list[Member]:
    required = [b"action", *[part.name for part in form.parts if part.required]]
    gone = source.choice(required)
    return [member for member in members if member[0] != gone]


def _with_wrong_type(source: Source, _: _Form, members: list[Member]) -> list[Member]:
    at = source.integer(0, len(members) - 1)
    wrong = (members[at][0], source.choice(_WRONG_VALUES))
    return [*members[:at], wrong, *members[at + 1 :]]


def _with_unknown(source: Source, _: _Form, members: list[Member]) -> list[Member]:
    name = source.choice((b"extra", b"Action", b"", b"__proto__", b"action ", b"operator"))
    return [*members, (name, string(source))]


_SPOILERS: dict[Plan, Callable[[Source, _Form, list[Member]], list[Member]]] = {
    "missing-argument": _without_one,
    "wrong-type": _with_wrong_type,
    "unknown-argument": _with_unknown,
}
