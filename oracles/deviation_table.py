"""Every deviation by its name: what about some bytes is not as a rule demands.

A deviation is ``rule:trait``. Those of the layers ``utf8`` and ``json`` take their traits from the
table of :mod:`.traits`, those of params and results from :mod:`.protocol.traits`; all others are
listed here. That of a result says what is wrong with the result, and nothing about what was sent.
The third column is the leniency: a reader that accepts one of its deviations accepts the others for
the same reason, so that they are one fault.
"""

from __future__ import annotations

from typing import NamedTuple

from wirefence.oracles.protocol.traits import KINDS, list_traits
from wirefence.oracles.rules import BY_ID
from wirefence.oracles.traits import TRAITS

__all__ = ["DEVIATIONS", "NONE", "Deviation", "leniency_of", "render_deviations"]

_SHOWN = 6
"""Inner members that a row of the page names."""
NONE = "none"
"""The deviation of a frame in which nothing is wrong."""


class Deviation(NamedTuple):
    """One way to break a rule. ``leniency`` is what a reader that takes it is lenient about."""

    name: str
    leniency: str
    meaning: str


_TYPES = {
    "null": "null",
    "boolean": "true or false",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}

# fmt: off
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("frame-empty", "no-bytes", "", "an empty line"),
    ("frame-empty", "white-space", "", "a line of white space"),
    ("frame-too-long", "whole-line", "", "a line longer than the bound"),
    ("frame-too-long", "no-line-feed", "", "bytes without LF, longer than the bound"),
    ("frame-cr", "line-end", "white-space", "a CR before the LF"),
    ("frame-cr", "separator", "separator", "a CR with a whole object on one side of it"),
    ("frame-cr", "in-string", "in-string", "a CR inside a string"),
    ("frame-cr", "white-space", "white-space", "a CR between tokens, or before the first"),
    ("frame-unterminated", "whole", "whole", "a whole object without LF at the end of stdin"),
    ("frame-unterminated", "part", "part", "a part of a text at the end of stdin"),
    ("rpc-not-object", "null", "", "null"),
    ("rpc-not-object", "boolean", "", "true or false"),
    ("rpc-not-object", "number", "", "a number"),
    ("rpc-not-object", "string", "", "a string"),
    ("rpc-batch", "other-version", "other-version", "a batch in a version without batches"),
    ("rpc-batch", "empty", "empty", "an empty batch"),
    ("rpc-batch", "initialize", "initialize", "initialize within a batch"),
    ("rpc-batch", "bad-member", "bad-member", "a batch with a member that is rejected"),
    ("rpc-version", "absent", "", "no member jsonrpc"),
    ("rpc-version", "string", "", "another string in jsonrpc"),
    ("rpc-version", "type", "", "another type in jsonrpc"),
    ("rpc-kind", "mixed", "mixed", "two of method, result and error"),
    ("rpc-kind", "no-kind", "no-kind", "none of method, result and error"),
    ("rpc-kind", "no-id", "no-id", "a response without id"),
    ("rpc-unknown-member", "other-case", "other-case", "a member of JSON-RPC in other letters"),
    ("rpc-unknown-member", "params", "", "params in a response"),
    ("rpc-unknown-member", "other", "", "a member that JSON-RPC does not know"),
    ("rpc-id", "minus-zero", "minus-zero", "the id -0"),
    ("rpc-id", "integral-fraction", "fraction", "a fraction of integral value as id"),
    ("rpc-id", "fraction", "fraction", "a fraction as id"),
    ("rpc-id", "exponent", "fraction", "an exponent in an id"),
    ("rpc-id", "boolean", "boolean", "true or false as id"),
    ("rpc-id", "null", "null", "null as id"),
    ("rpc-id", "array", "container", "an array as id"),
    ("rpc-id", "object", "container", "an object as id"),
    *(("rpc-method", kind, "", f"{text} as method") for kind, text in _TYPES.items() if kind != "string"),
    *(("rpc-params", kind, "", f"{text} as params") for kind, text in _TYPES.items() if kind != "object"),
    ("rpc-result", "result", "result", "a result that is no object"),
    ("rpc-result", "error", "error", "an error that is no object"),
    ("rpc-result", "code", "error", "an error whose code is no integer"),
    ("rpc-result", "message", "error", "an error whose message is no string"),
    ("mcp-kind", "no-id", "no-id", "a method of requests, without id"),
    ("mcp-kind", "id", "id", "a method of notifications, with an id"),
    ("mcp-unknown-param", "other-case", "", "a param of tools/call in other letters"),
    ("mcp-unknown-param", "other", "", "a param that tools/call does not know"),
    ("life-not-initialized", "request", "", "a request before initialize"),
    ("life-not-initialized", "notification", "", "a notification before initialize"),
    ("life-not-initialized", "response", "", "a response before initialize"),
    ("life-not-ready", "request", "", "a request before notifications/initialized"),
    ("life-reinitialize", "request", "", "a second initialize"),
    ("life-reinitialize", "notification", "notification", "a second notifications/initialized"),
    ("life-id-reuse", "request", "", "an id that an earlier request had"),
    ("life-unsolicited-response", "response", "", "a response to no request"),
    ("life-closed", "frame", "", "a frame after the close of the session"),
    ("mcp-method", "unknown", "", "a method that is not served"),
    ("mcp-version", "unsupported", "", "a version that is not supported"),
    ("tool-unknown", "white-space", "white-space", "a tool's name with white space around it"),
    ("tool-unknown", "other-case", "other-case", "a tool's name in other letters"),
    ("tool-unknown", "other", "", "a name that no tool has"),
    ("tool-arguments", "missing", "missing", "a required argument is missing"),
    ("tool-arguments", "schema", "schema", "arguments that the tool's input schema refuses otherwise"),
    ("tool-arguments", "choice", "choice", "a string that is none of the choices"),
    ("tool-arguments", "item", "item", "an item of an array with another type"),
    ("tool-arguments", "number", "type", "a number where another type is declared"),
    *(("tool-arguments", kind, "type", f"{text} where another type is declared")
      for kind, text in _TYPES.items() if kind != "number"),
    ("tool-unknown-argument", "other-case", "", "a declared argument in other letters"),
    ("tool-unknown-argument", "other", "", "an argument that the tool does not declare"),
    ("identity-unknown", "type", "type", "a token that is no string"),
    ("identity-unknown", "near", "near", "the token in other letters, or with more around it"),
    ("identity-unknown", "other", "", "another token"),
    ("authz-denied", "no-token", "", "a call of an operator's tool without the token"),
)
"""Rule, trait, leniency within the rule (empty: that of the rule as a whole), meaning."""

_EARLIER = ("surrogate-bytes", "bom", "invalid-utf8", "empty")
"""Traits of documents that break an earlier rule."""

_DOCUMENTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("utf8-bom", ("bom",)),
    ("utf8-invalid", ("utf16-or-utf32", "surrogate-bytes", "invalid-utf8")),
    ("json-syntax", tuple(name for name, trait in TRAITS.items() if not trait.valid and name not in _EARLIER)),
    ("json-depth", ("depth",)),
    ("json-duplicate-name", ("dup-escaped", "duplicate-name")),
    ("json-lone-surrogate", ("surrogate-key", "lone-hi", "lone-lo")),
    ("json-integer-range", ("int-310d", "int>=10^20", "int>=2^64", "int>=2^63", "int<-2^63", "int>2^53")),
    ("json-number-range", ("overflow-exp", "underflow")),
    ("json-number-length", ("int-4301d", "fraction-4301d", "number-1001c")),
)
"""Rules about documents, and the traits by which they are broken."""
# fmt: on

_WHOLE_RULE = frozenset(
    rule for rule, _ in _DOCUMENTS if rule not in ("utf8-invalid", "json-syntax")
)
"""Rules about documents that a reader keeps or breaks as a whole."""


_ALIKE = {
    "nan": "non-finite",
    "infinity": "non-finite",
    "unclosed": "unclosed",
    "unclosed-string": "unclosed",
}
"""Traits of different groups that a reader takes for one reason."""


def _name_leniency(rule: str, trait: str) -> str:
    if rule in _WHOLE_RULE:
        return rule
    group = TRAITS[trait].group
    # Quirks have one group for all that is otherwise no JSON; readers take it one by one.
    return f"{rule}:{_ALIKE.get(trait, trait if group == 'syntax' else group)}"


def _describe_trait(trait: str) -> str:
    """Return a trait of the protocol's shapes in words."""
    *names, kind = trait.split("-")
    place = " in ".join(reversed(names)) or "the whole"
    return f"{place} {KINDS[kind]}"


def _list_deviations() -> list[Deviation]:
    found = [
        Deviation(f"{rule}:{name}", _name_leniency(rule, name), TRAITS[name].meaning)
        for rule, names in _DOCUMENTS
        for name in names
    ]
    found += [
        Deviation(f"{rule}:{name}", f"{rule}:{group}" if group else rule, meaning)
        for rule, name, group, meaning in _TABLE
    ]
    found += [
        Deviation(f"{rule}:{trait}", f"{rule}:{member}" if member else rule, _describe_trait(trait))
        for rule in ("mcp-meta", "mcp-params")
        for member, traits in list_traits()[rule].items()
        for trait in traits
    ]
    order = list(BY_ID)
    return sorted(found, key=lambda each: order.index(each.name.partition(":")[0]))


DEVIATIONS: dict[str, Deviation] = {each.name: each for each in _list_deviations()}
"""Every deviation by its name, in the order of the rules."""


_OF_SHAPES = ("mcp-meta:", "mcp-params:")
_OF_REPLIES = ("mcp-result", "mcp-error")
"""What a reply breaks. Traits are named by the outermost member, which is the leniency: one part of
a server makes that member, with all that is in it."""


def leniency_of(deviation: str) -> str:
    """Return what a reader is lenient about that takes a deviation; itself for unknown ones."""
    if found := DEVIATIONS.get(deviation):
        return found.leniency
    rule, _, trait = deviation.partition(":")
    return f"{rule}:{trait.partition('-')[0]}" if rule in _OF_REPLIES else deviation


def render_deviations() -> str:
    """Return the page ``docs/deviations.md``: every deviation with its leniency and meaning."""
    lines = [
        "# Deviations",
        "",
        "Generated from `oracles/deviation_table.py`; a test compares it with the code. A deviation is what",
        "about some bytes is not as a [rule](rules.md) demands: the rule, and how it is broken. A signature",
        "names one. Deviations of one *leniency* are one fault where the target does the same with them:",
        "a reader that accepts one of them accepts the others for the same reason.",
        "",
        "| deviation | leniency | meaning |",
        "|---|---|---|",
    ]
    for each in DEVIATIONS.values():
        if not each.name.startswith(_OF_SHAPES):
            meaning = each.meaning.replace("\\", "\\\\")
            lines.append(f"| `{each.name}` | {each.leniency} | {meaning} |")
    lines += ["", *_render_shapes()]
    return "\n".join(lines) + "\n"


def _render_shapes() -> list[str]:
    """One row for each outermost member of params and results: there are hundreds of traits."""
    lines = [
        "## Params and results",
        "",
        "Params and results are compared with the official schema of the session's version. A deviation has three",
        "parts. The first is the rule: `mcp-params` for params, `mcp-meta` for `_meta` in params, `mcp-result` for",
        "a result. The second is the outermost member, followed by the innermost one if it lies deeper. The third",
        "is `missing`, `type` (the member has another type), `value` (the value is not allowed) or `format`.",
        "Example: `mcp-result:content-text-missing`. Deviations of one outermost member are one leniency.",
        "`mcp-error:data-...` names the same for an error whose code the version defines.",
        "",
        "| rule | outermost member | deviations | wrong with it | wrong in it |",
        "|---|---|---|---|---|",
    ]
    for rule, members in list_traits().items():
        for member, traits in members.items():
            below = [trait.removeprefix(f"{member}-") for trait in traits]
            own = ", ".join(each for each in below if "-" not in each)
            inner = sorted({each.rpartition("-")[0] for each in below} - {""})
            shown = ", ".join(inner[:_SHOWN]) + (", ..." if len(inner) > _SHOWN else "")
            lines.append(
                f"| {rule} | {member or '(the whole)'} | {len(traits)} | {own} | {shown} |"
            )
    return lines
