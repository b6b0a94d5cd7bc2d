"""The details of one finding, the same in every report format.

A maintainer needs first the broken rule and the bytes, then the oracle. Secrets are redacted before
anything is cut, as half a secret would not be recognized. A server's text is hostile to the
formats, so all text is redacted, then control characters are escaped, then each format applies its
own escapes.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.fuzz.gate.records import Flaw, Report
from wirefence.fuzz.gate.report.faults import ReportedFault
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.text import escape_unprintable
from wirefence.oracles.rules import BY_ID, ORACLE_RULES

__all__ = [
    "SHOWN",
    "describe_fault",
    "describe_place",
    "escape_text",
    "explain_rule",
    "find_broken_rule",
    "join_sent_bytes",
    "list_details",
    "show_both_ends",
    "show_start",
]

SHOWN = 160
"""Bytes of each end of an input that are shown: about two lines of text."""

_MOST_NAMED = 6
"""Trials that are named: about one line of text."""
_HANDSHAKE = (b'"method":"initialize"', b'"notifications/initialized"')


def explain_rule(rule: str) -> tuple[str, str]:
    """Return the statement and source of a rule of the contract or of an oracle."""
    if rule in BY_ID:
        return BY_ID[rule].statement, BY_ID[rule].source
    for oracle, rules in ORACLE_RULES.items():
        if rule in rules:
            return rules[rule], f"oracle {oracle}"
    return rule, ""


def find_broken_rule(flaw: Flaw) -> str:
    """Return the rule that the frame broke where one is known, else that of the oracle."""
    broken = flaw.finding.deviation.partition(":")[0]
    return broken if broken in BY_ID else flaw.finding.rule


def join_sent_bytes(flaw: Flaw) -> bytes:
    """Return the frames of the reproducer except the handshake, joined."""
    frames = [f.raw for f in flaw.case.frames if not any(p in f.raw for p in _HANDSHAKE)]
    return b"".join(frames) or flaw.case.data


def describe_place(place: str) -> str:
    """Return a place in a session as words."""
    return "at the end" if place == "end" else f"{place} the handshake"


def list_details(flaw: Flaw, report: Report, hide: Redactor) -> Iterator[tuple[str, str]]:
    """Yield name and text of each detail; one line each, not escaped for any format."""
    rule = find_broken_rule(flaw)
    statement, source = explain_rule(rule)
    level = "" if rule not in BY_ID or len(BY_ID[rule].profiles) == 2 else ", strict profile only"
    named = ", ".join(flaw.trials[:_MOST_NAMED] or (flaw.trial,))
    more = f" and {len(flaw.trials) - _MOST_NAMED} more" if len(flaw.trials) > _MOST_NAMED else ""
    details = (
        ("rule", f"{rule}: {statement} ({source}{level})"),
        ("shown by", f"{named}{more} ({describe_place(flaw.place)})"),
        ("sent", show_both_ends(hide.redact_bytes(join_sent_bytes(flaw)))),
        ("offending", show_start(hide.redact_bytes(flaw.offending)) if flaw.offending else ""),
        ("command", report.command),
        ("environment", " ".join(f"{name}={value}" for name, value in report.changes.items())),
        ("reproducer", f"{flaw.path} ({len(flaw.case.data):,} bytes)"),
        ("transcript", flaw.transcript),
        ("stderr", flaw.stderr),
        ("replay", flaw.replay),
    )
    yield from ((name, text) for name, text in details if text)


def escape_text(text: str, hide: Redactor) -> str:
    """Return text of several lines without secrets and control characters."""
    return "\n".join(escape_unprintable(line) for line in hide.redact_text(text).split("\n"))


def describe_fault(fault: ReportedFault, report: Report, hide: Redactor) -> str:
    """Return the summary and details of the gravest finding, then each other, line by line."""
    flaw = fault.title
    shown = [f"{name}: {text}" for name, text in list_details(flaw, report, hide)]
    shown += [f"also: {each.describe_line()}" for each in fault.list_lines()]
    return escape_text("\n".join((flaw.finding.summary, *shown)), hide)


def show_start(raw: bytes) -> str:
    """Return the beginning as a Python literal: ASCII only, so no font hides anything."""
    text = repr(raw[:SHOWN])[1:]
    return f"{text} ... {len(raw):,} bytes" if len(raw) > SHOWN else text


def show_both_ends(raw: bytes) -> str:
    """Return beginning and end: a good frame may precede the bad one."""
    if len(raw) <= 2 * SHOWN:
        return repr(raw)[1:]
    return f"{repr(raw[:SHOWN])[1:]} ... {repr(raw[-SHOWN:])[1:]}, {len(raw):,} bytes"
