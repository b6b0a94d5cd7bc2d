"""Oracle *transcript*: every byte on stdout belongs to a complete, permitted message.

Stdout is judged raw and whole, by the same judge as stdin, before anything decodes
it; one stray byte there is a message that the peer will misread.
"""

from __future__ import annotations

from collections.abc import Sequence

from wirefence.oracles.records import Finding, ReplyVerdict, make_finding
from wirefence.oracles.transcript_kinds import list_offences
from wirefence.targets.records import Trace

__all__ = ["check_transcript", "lines_of"]

_SHOWN = 80


def lines_of(stdout: bytes) -> list[bytes]:
    """The complete lines of a transcript, without LF; bytes after the last LF are left out."""
    return stdout.split(b"\n")[:-1]


def check_transcript(trace: Trace, said: Sequence[ReplyVerdict]) -> list[Finding]:
    """Return a finding for each kind of offence on stdout, with the first offending bytes.

    ``said`` holds the verdict on each line of :func:`lines_of`. Rules: ``out-not-json``,
    ``out-not-message`` and ``out-unterminated``. Kinds: those of
    :data:`oracles.transcript_kinds.KINDS`, and for ``out-not-message`` the rule that is broken.
    """
    tail = trace.stdout[trace.stdout.rfind(b"\n") + 1 :]
    if not tail and not any(verdict.rule for verdict in said):
        return []
    found: dict[str, Finding] = {}
    for rule, kind, raw in list_offences(lines_of(trace.stdout), said, tail):
        each = make_finding("transcript", rule, trace.target, kind, _show_bytes(raw))
        found.setdefault(each.signature, each)
    return list(found.values())


def _show_bytes(raw: bytes) -> str:
    """The first bytes, escaped, so that a hostile transcript can't drive the reader's terminal."""
    text = repr(raw[:_SHOWN])[1:]
    return f"{text} ..." if len(raw) > _SHOWN else text
