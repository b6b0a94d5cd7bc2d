"""Oracle *transcript*: every byte on stdout belongs to a complete, permitted message.

Stdout is judged raw and whole, by the same judge as stdin, before anything decodes
it; one stray byte there is a message that the peer will misread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.evidence import Evidence
from wirefence.oracles.records import Finding, ReplyVerdict, make_finding
from wirefence.oracles.transcript_kinds import list_offences

__all__ = ["check_startup", "check_transcript", "find_offences", "lines_of"]

_SHOWN = 80


def lines_of(stdout: bytes) -> list[bytes]:
    """The complete lines of a transcript, without LF; bytes after the last LF are left out."""
    return stdout.split(b"\n")[:-1]


def check_transcript(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each kind of offence on stdout, with the first offending bytes.

    Rules: ``out-not-json``, ``out-not-message`` and ``out-unterminated``. Kinds: those of
    :data:`oracles.transcript_kinds.KINDS`, and for ``out-not-message`` the rule that is broken,
    with the trait by which params break it.
    What a server prints is named by what it is, never by what was sent: its deviation is ``none``.
    """
    # Another's server may extend the protocol by methods.
    said = [
        v if evidence.exact or v.rule != "mcp-method" else ReplyVerdict("", v.kind)
        for v in evidence.said
    ]
    yield from find_offences(evidence.target, evidence.lines, said, evidence.tail)


def find_offences(
    target: str, lines: Sequence[bytes], said: Sequence[ReplyVerdict], tail: bytes
) -> list[Finding]:
    """Return a finding for each kind of offence in a transcript.

    ``said`` holds the verdict on each of ``lines``; ``tail`` is what stands behind the last LF.
    """
    if not tail and not any(verdict.rule for verdict in said):
        return []
    found: dict[str, Finding] = {}
    for rule, kind, raw in list_offences(lines, said, tail):
        effect = f"{rule}:{kind.replace(' ', '-')}"
        each = make_finding("transcript", effect, target, NONE, _show_bytes(raw), raw)
        found.setdefault(each.signature, each)
    return list(found.values())


def check_startup(  # noqa: PLR0913 - what was seen of one start
    target: str,
    start: str,
    *,
    about: str,
    stdout: bytes,
    said: Sequence[ReplyVerdict],
    last: bytes | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with one start of a process, one finding for each rule.

    ``start`` names the way in which it was started and is the deviation; ``about`` says it to
    people. ``stdout`` is what a plain start does not print as well, and ``said`` the verdict on
    each of its lines. ``last`` are the last bytes of a start whose request was not answered,
    ``None`` where it was, or need not be.
    """
    reported: set[str] = set()
    tail = stdout[stdout.rfind(b"\n") + 1 :]
    for each in find_offences(target, lines_of(stdout), said, tail):
        if each.rule not in reported:
            reported.add(each.rule)
            text = f"{about}: {each.summary} on stdout"
            yield make_finding("transcript", each.rule, target, start, text, each.offending)
    if last is not None:
        text = f"{about}: a request is not answered"
        yield make_finding("reply", "reply-missing", target, start, text, last)


def _show_bytes(raw: bytes) -> str:
    """The first bytes, escaped, so that a hostile transcript can't drive the reader's terminal."""
    text = repr(raw[:_SHOWN])[1:]
    return f"{text} ..." if len(raw) > _SHOWN else text
