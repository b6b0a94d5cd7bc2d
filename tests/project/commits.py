"""The rule on commit subjects: an imperative, at most 72 characters.

A list of words cannot prove that a word is a verb. It rejects what subjects begin with when they
state something instead: articles, pronouns, participles, the name of a file with a colon.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

BASE = "9e508f9ae0e9148a385056e28d1a0861fe6994e9"
"""The rule holds for the commits behind this one; older subjects are not judged."""

MOST = 72

NO_VERBS = frozenset(re.findall(r"\w+", """
A An The This That These Those Each Every Some Any All Both Either Neither Nobody No Not None
Nothing Never One Two Three Four Five Ten Many More Most Much Few Fewer Less Only Other Another
Such Same Several I We You He She It They Its His Her Our Your Their My What Who Whoever
Whatever Whose Which When Where Whether Why How There Here Then Now And Or But If As At By For
From In Into Of On Onto To With Without Within After Before Behind Below Above Is Are Was Were
Be Been Has Have Had Does Did Can Could May Might Must Should Would Will Also Still Again New
Old First Last Better Readme Changelog Figures Pages Docs Documents Tests Quirks Errors
Findings Secrets Servers Clients Notes Files
"""))  # fmt: skip
"""First words that are no imperative; their capitals as they stand at the beginning."""

VERBS_IN_ED_OR_ING = frozenset(
    ("Bring", "Embed", "Exceed", "Feed", "Need", "Ping", "Proceed", "Seed", "Shed", "Speed")
)


def wrong_with(subject: str) -> str | None:
    """What the rule says against a subject, or ``None``."""
    if len(subject) > MOST:
        return f"has {len(subject)} characters, {MOST} at most"
    first = re.match(r"[A-Z][a-z]+(?:-[a-z]+)?(?= )", subject)
    if not first:
        return "does not begin with a capitalized verb"
    word = first.group()
    form = re.search(r"(?:ed|ing)$", word) and word not in VERBS_IN_ED_OR_ING
    if word in NO_VERBS or form:
        return f"begins with {word!r}, which is no imperative"
    return None


def subjects_since(root: Path, base: str) -> list[tuple[str, str]] | str:
    """Hash and subject of each commit behind ``base``; or a sentence that says why not."""
    if not (root / ".git").exists():
        return "there is no git history here"
    try:
        known = _git(root, "merge-base", "--is-ancestor", base, "HEAD")
        listing = _git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD")
    except FileNotFoundError:
        return "git is not installed"
    if known.returncode or listing.returncode:
        return f"the history does not reach back to {base[:12]} (a shallow clone has a part of it)"
    lines = [line.partition(" ") for line in listing.stdout.splitlines()]
    return [(name, subject) for name, _, subject in lines]


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, encoding="utf-8", check=False
    )
