"""Every rule by its name, with its layer, its sentence and where that sentence comes from.

A rule is data, so the judge, the reports and ``docs/rules.md`` can't tell
different stories about it.
"""

from __future__ import annotations

from wirefence.oracles.records import Layer, Rule

__all__ = ["BY_ID", "ORACLE_OF", "ORACLE_RULES", "RULES", "render_rules"]

_STRICT = ("strict",)
_CODES: dict[Layer, int] = {
    "framing": -32700,
    "utf8": -32700,
    "json": -32700,
    "rpc": -32600,
    "message": -32602,
    "lifecycle": -32600,
}
# fmt: off
_TABLE: tuple[tuple[Layer, str, str, str, bool], ...] = (
    ("framing", "frame-empty", "A frame holds more than white space.", "RFC 8259 section 2: a text has a value", False),
    ("framing", "frame-too-long", "A frame is no longer than the contract's bound.", "house: a reader must bound what it buffers", True),
    ("framing", "frame-cr", "A frame holds no raw carriage return.", "house: text-mode readers end a line there", True),
    ("framing", "frame-unterminated", "Bytes without LF at the end of stdin are no frame.", "MCP transports, stdio: messages are delimited by newlines", False),
    ("utf8", "utf8-bom", "A frame does not begin with a byte order mark.", "RFC 8259 section 8.1", False),
    ("utf8", "utf8-invalid", "A frame is well-formed UTF-8.", "RFC 3629 section 3; MCP transports: messages MUST be UTF-8", False),
    ("json", "json-syntax", "A frame is exactly one JSON text.", "RFC 8259 sections 2 to 7", False),
    ("json", "json-depth", "Containers nest no deeper than the contract's bound.", "RFC 8259 section 9: an implementation may set limits", True),
    ("json", "json-duplicate-name", "Names within an object are unique after unescaping.", "RFC 7493 section 2.3", True),
    ("json", "json-lone-surrogate", "An escaped surrogate has its partner.", "RFC 7493 section 2.1", True),
    ("json", "json-integer-range", "An integer lies within 2^53-1 on either side.", "RFC 7493 section 2.2", True),
    ("json", "json-number-range", "A fraction or exponent is finite as binary64 and does not vanish.", "RFC 7493 section 2.2", True),
    ("json", "json-number-length", "A number has at most 1,000 characters.", "house: parsers bound their digits differently", True),
    ("rpc", "rpc-not-object", "A message is an object.", "JSON-RPC 2.0 section 4", False),
    ("rpc", "rpc-batch", "A batch belongs to 2025-03-26, has members, and no initialize or bad member.", "MCP 2025-03-26, base protocol and lifecycle", False),
    ("rpc", "rpc-version", "jsonrpc is the string 2.0.", "JSON-RPC 2.0 section 4", False),
    ("rpc", "rpc-kind", "A message is a request, a notification or a response, and only one of them.", "JSON-RPC 2.0 sections 4 and 5", False),
    ("rpc", "rpc-unknown-member", "A message has no members that JSON-RPC does not know.", "house: another reader may fold names into known ones", True),
    ("rpc", "rpc-id", "An id is a string or an integer token.", "MCP base protocol: request ids; JSON-RPC 2.0 section 4", False),
    ("rpc", "rpc-method", "A method is a string.", "JSON-RPC 2.0 section 4", False),
    ("rpc", "rpc-params", "Params are an object.", "MCP schema, Request and Notification", False),
    ("rpc", "rpc-result", "A result is an object; an error has an integer code and a message.", "MCP schema, Result and Error; JSON-RPC 2.0 section 5.1", False),
    ("message", "mcp-kind", "A request method has an id, a notification method has none.", "MCP schema, ClientRequest and ClientNotification", False),
    ("message", "mcp-meta", "The _meta member is an object with members of the right types.", "MCP schema, RequestParams and RequestMetaObject", False),
    ("message", "mcp-params", "The params of a method have their required members and types.", "MCP schema, the method's params", False),
    ("message", "mcp-unknown-param", "The params of tools/call have no unknown member.", "house: an unknown member may mean something to another reader", True),
    ("lifecycle", "life-closed", "Nothing follows the close of a session.", "house: the close policy", False),
    ("lifecycle", "life-not-initialized", "initialize comes first.", "MCP lifecycle: initialization MUST be the first interaction", False),
    ("lifecycle", "life-not-ready", "notifications/initialized comes before other requests.", "MCP lifecycle, initialization; stricter than its SHOULD", True),
    ("lifecycle", "life-reinitialize", "A session is initialized once.", "MCP lifecycle, initialization", False),
    ("lifecycle", "life-id-reuse", "A request id is used once in a session.", "MCP base protocol: ids MUST NOT have been used before", False),
    ("lifecycle", "life-unsolicited-response", "A response answers a request.", "JSON-RPC 2.0 section 5", True),
)
_REFUSALS: tuple[tuple[Layer, str, str, str, bool, int], ...] = (
    ("message", "mcp-method", "The method of a request is served.", "JSON-RPC 2.0 section 5.1", False, -32601),
    ("message", "mcp-version", "The version that a request names is supported.", "MCP 2026-07-28 schema, UnsupportedProtocolVersionError", False, -32022),
    ("tool", "tool-unknown", "The tool exists.", "MCP tools, error handling", False, -32602),
    ("tool", "tool-arguments", "The arguments fit the tool's schema.", "MCP tools: servers MUST validate all tool inputs", False, -32602),
    ("tool", "tool-unknown-argument", "Every argument is declared by the tool.", "house: an undeclared argument was never reviewed", True, -32602),
    ("identity", "identity-unknown", "A token, if given, is the contract's.", "house: identity counts for its own request only", False, -32001),
    ("authorization", "authz-denied", "The caller may use the tool.", "house: operator-only tools", False, -32003),
)
# fmt: on


def _make_rejections() -> list[Rule]:
    return [
        Rule(
            name, layer, text, source, _STRICT if strict else ("strict", "spec"), code=_CODES[layer]
        )
        for layer, name, text, source, strict in _TABLE
    ]


def _make_refusals() -> list[Rule]:
    return [
        Rule(
            name,
            layer,
            text,
            source,
            _STRICT if strict else ("strict", "spec"),
            closes=False,
            code=code,
        )
        for layer, name, text, source, strict, code in _REFUSALS
    ]


RULES: tuple[Rule, ...] = (*_make_rejections(), *_make_refusals())
"""The rules of docs/contract.md: what the judge finds broken in a frame."""

ORACLE_RULES: dict[str, dict[str, str]] = {
    "non-action": {
        "act-rejected": "An effect whose action name occurs only in a rejected frame.",
        "act-unauthorized": "An effect of a call that identity or authorization refused.",
        "act-twice": "A second effect of one call.",
        "act-early": "An effect before its frame was complete.",
        "act-after-close": "An effect of a frame that came after the close.",
        "act-altered": "An effect with another tool or other arguments than were sent.",
        "act-missing": "A call answered with success that had no effect.",
        "act-unfounded": "An effect whose action name was never sent.",
    },
    "agreement": {
        "agree-accept": "A parser accepts what the judge rejects, or the reverse.",
        "agree-value": "A parser reads another typed value than the judge.",
        "agree-escape": "A parser raises an error outside its documented types.",
        "agree-death": "A parser ends its process.",
    },
    "reply": {
        "reply-id": "A reply whose id no request has, or that belongs to another request.",
        "reply-code": "A reply with another code, or a result where an error is due, or the reverse.",
        "reply-twice": "More than one reply to a request.",
        "reply-to-notification": "A reply to a notification.",
        "reply-missing": "No reply to a request.",
        "reply-to-rejected": "A result for a rejected frame, or any reply after the close.",
        "malformed-result": "A result, or the data of an error, that the protocol or the tool's own schema does not allow.",
        "reply-leak": "A reply with a secret, a traceback or an action name in an error.",
    },
    "transcript": {
        "out-not-json": "A line on stdout that is not JSON.",
        "out-not-message": "A line on stdout that is not a permitted message.",
        "out-unterminated": "Bytes on stdout without LF at their end.",
    },
    "session": {
        "session-resync": "A good request after a rejected frame is not served.",
        "session-state": "Other effects than in a control session without the rejected frames.",
    },
    "client": {
        "client-accepts": "A client accepts an answer that breaks a rule of the contract.",
        "client-association": "A client assigns an answer to a request that it does not belong to.",
        "client-deaf": "A client does not accept a permitted answer.",
    },
    "liveness": {
        "live-crash": "The target crashed or exited.",
        "live-hang": "The target did not answer in time.",
        "live-memory": "The target used memory without limit.",
    },
    "smoke": {
        "smoke-tool": "An expected tool is not listed.",
        "smoke-capability": "A list that the server's capabilities promise is refused as an unknown method.",
        "smoke-exit": "The server does not exit cleanly when its stdin ends.",
        "smoke-lost": "A reply to a request that was written before stdin ended is missing.",
    },
}
"""The rules of the oracles: what must not be seen of a target."""

ORACLE_OF: dict[str, str] = {rule: name for name, rules in ORACLE_RULES.items() for rule in rules}
"""The oracle of each of its rules."""

BY_ID: dict[str, Rule] = {rule.id: rule for rule in RULES}


def render_rules() -> str:
    """The page ``docs/rules.md``: every rule of the judge and of the oracles."""
    lines = [
        "# Rules",
        "",
        "Generated from `oracles/rules.py`; a test compares it with the code. [contract.md](contract.md) has",
        "the details of each rule, [glossary.md](glossary.md) the terms. A source that begins with *house*",
        "marks a house rule: no specification demands it.",
        "",
        "## Rules of the judge",
        "",
        "| rule | layer | statement | profile | code | source |",
        "|---|---|---|---|---|---|",
    ]
    for rule in RULES:
        profile = "both" if len(rule.profiles) == 2 else "strict"
        kind = "" if rule.closes else " (refusal)"
        lines.append(
            f"| {rule.id} | {rule.layer} | {rule.statement} | {profile} | {rule.code}{kind} "
            f"| {rule.source} |"
        )
    lines += ["", "## Rules of the oracles", "", "| rule | oracle | found |", "|---|---|---|"]
    for oracle, rules in ORACLE_RULES.items():
        lines += [f"| {name} | {oracle} | {text} |" for name, text in rules.items()]
    return "\n".join(lines) + "\n"
