"""Counting effects against a control session.

A server that turns bad arguments into an empty call acts without any nonce. What
gives it away is that a session with one bad frame more has more effects than the same session
without, once names that are new each time (temporary files, ports, dates) are made equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from wirefence.targets.effects.records import EffectKind, Observed

__all__ = ["Kind", "count_effects", "count_surplus", "normalize_effect", "normalize_text"]

Kind = tuple[str, EffectKind, bytes]
"""Recorder, kind of effect, normalized detail. Recorders are counted apart: one act is seen by
several of them."""

_NOISE = re.compile(
    rb"/__pycache__/[^/]+\.pyc(?:\.\d+)?(?: ->|$)|^/dev/(?:null|tty|pts/|ptmx)|^/proc/self/"
)
# Six letters that could be a word are taken for one (report-backup and report-secret are two
# files), though one name of mkdtemp(3) in sixty looks like that; it draws from A-Z, a-z and 0-9.
_VARYING = re.compile(
    rb"tmp[a-z0-9_]{8}\b"  # Python's tempfile
    rb"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # UUID
    rb"|\b(?=[a-z]*[0-9])[0-9a-f]{8,}\b"
    rb"|(?<=[-._])(?-i:(?![A-Za-z][a-z]{5}|[A-Z]{6})[A-Za-z0-9]{6})(?=$|/| ->)"  # mkdtemp(3)
    rb"|\d+",
    re.IGNORECASE,
)


def normalize_text(text: bytes) -> bytes:
    """The text with numbers, dates, temporary names and the like made equal."""
    return _VARYING.sub(b"#", text)


def normalize_effect(seen: Observed, nonces: Iterable[str] = ()) -> Kind | None:
    """What one effect counts as; ``None`` for what interpreters do by themselves.

    ``nonces`` are made equal too, so that a control session may use names of its own.
    """
    detail = seen.detail
    if _NOISE.search(detail):
        return None
    for nonce in nonces:
        detail = detail.replace(nonce.encode(), b"*") if nonce else detail
    return seen.recorder, seen.kind, normalize_text(detail)


def count_effects(seen: Iterable[Observed], nonces: Iterable[str] = ()) -> Counter[Kind]:
    """How often each effect happened, normalized."""
    names = tuple(nonces)
    return Counter(kind for each in seen if (kind := normalize_effect(each, names)) is not None)


def count_surplus(case: Counter[Kind], control: Counter[Kind]) -> Counter[Kind]:
    """What happened in the case more often than in the control session."""
    return case - control
