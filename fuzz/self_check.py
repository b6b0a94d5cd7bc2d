"""Check the readers of JSON that findings rest on, before anything is judged with them."""

from __future__ import annotations

import platform
import sys
from functools import cache

from wirefence.fuzz.errors import UsageError
from wirefence.oracles.known_answers import ACCEPTED, DOCUMENTS, WRONG_TOKENS, wrong_answer
from wirefence.targets.parsers.prescan import PrescanError, prescan_document

__all__ = ["check_readers"]


@cache  # once for each process: the answer cannot change
def check_readers() -> None:
    """Raise UsageError where the judge or the prescan reads a known text wrongly."""
    wrong = wrong_answer() or _wrong_scan()
    if wrong:
        raise UsageError(
            f"nothing can be judged under Python {platform.python_version()} ({sys.executable}): "
            f"{wrong}",
            "use another Python, and report this",
        )


def _wrong_scan() -> str:
    """Say which text the strict readers' prescan takes wrongly; ``""`` if it is right."""
    due = {raw: strict for raw, (strict, _) in DOCUMENTS.items() if strict != "json-syntax"}
    due |= dict.fromkeys(WRONG_TOKENS, "json-syntax") | dict.fromkeys(ACCEPTED, "")
    for raw, rule in due.items():
        try:
            prescan_document(raw)
        except PrescanError as error:
            seen = error.rule
        else:
            seen = ""
        if seen != rule:
            said, right = seen or "accepted", rule or "accepted"
            return f"the prescan says {said} of {raw[:40]!r}, where {right} is right"
    return ""
