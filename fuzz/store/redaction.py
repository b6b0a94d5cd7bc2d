"""Secrets of a launch, kept out of everything that is shown or stored.

The key insight: a secret is known twice, by its name (an option, a variable, a header) and by its
value. What a name gives away is remembered as a value, and then hidden wherever it turns up: in a
command line, in stderr, in bytes that a server echoed, and however it is spelled there.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import quote, quote_plus

from wirefence.oracles.records import Finding
from wirefence.targets.command.records import Launch

__all__ = ["HIDDEN", "PATTERNS_ONLY", "Redactor", "is_secret_name", "redact", "without_secrets"]

HIDDEN = "***"

_NAME = re.compile(
    r"(?:^|_)(?:API)?KEYS?$|APIKEY|TOKEN(?!S|IZ)|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL"
    r"|COOKIE|(?:^|_)AUTH(?:ORIZATION)?(?:_|$)|(?:^|_)(?:PAT|PWD)$|PRIVATE"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_SECRET = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK"})
_PUBLIC = re.compile(r"(?:^|_)PUBLIC_")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_ASSIGNMENT = re.compile(r"(-{0,2}[A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
_PREFIXED = re.compile(
    r"\b(?:sk-|gh[opsur]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|hf_|npm_|pypi-|eyJ)"
    r"[\w.~+/=-]{12,}"
)
# Each is linear in what it reads, for a server writes that: none looks ahead over what the next
# place that it is tried at would read again.
_TEXT_RULES = (
    re.compile(r"((?<=[\w+.-])://)[^/\s@\"'<>]+(?=@)"),
    re.compile(
        r"(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]+\s+)?)(?!\s)[^\s\"',;]+", re.I
    ),
    re.compile(  # a value may be quoted (RFC 6265, section 4.1.1), and that quote escaped
        r"(\b(?:set-)?cookie[\"']?\s*:\s*[\"']?)[^\r\n\"']+"
        r"(?:(?:(?<==)|(?<==\\))\"[^\r\n\"']*\"?[^\r\n\"']*)*",
        re.I,
    ),
    re.compile(r"(\bx-(?:api-key|auth-token)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]+", re.I),
    re.compile(r"(\bbearer\s+)[\w.~+/=-]{6,}", re.I),
    re.compile(r"([?&][\w-]*(?:token|key|secret|password|signature|sig)=)[^&\s\"']+", re.I),
)
_RUN = re.compile(r"[A-Za-z0-9_+-]{24,}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_LEAST_BITS = 3.5
_LEAST_CHANGES = 6
_SHORTEST = 6
"""Shorter values are hidden only where their name stands: ``1`` is everywhere."""
_BRIEF = 300


def is_secret_name(name: str) -> bool:
    """Whether a variable or option of this name holds a secret (``API_KEY``, ``--dbPassword``)."""
    words = _CAMEL.sub("_", name.lstrip("-")).replace("-", "_").replace(".", "_").upper()
    return words not in _NOT_SECRET and not _PUBLIC.search(words) and bool(_NAME.search(words))


def _is_random(text: str) -> bool:
    """Whether a run of characters looks like a key: many kinds of them, in no order."""
    if _HEX.fullmatch(text):
        return True
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
    mixed = all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    changes = sum(
        a.isdigit() != b.isdigit() and a.isalnum() and b.isalnum() for a, b in pairwise(text)
    )
    return bits >= _LEAST_BITS and (mixed or changes >= _LEAST_CHANGES)


def _hide_random(match: re.Match[str]) -> str:
    return HIDDEN if _is_random(match[0]) else match[0]


def redact(text: str) -> str:
    """Text without what looks like a secret by itself: headers, user info in URLs, known tokens."""
    for rule in _TEXT_RULES:
        text = rule.sub(rf"\1{HIDDEN}", text)
    return _PREFIXED.sub(HIDDEN, text)


def _argument(word: str) -> str:
    """A word of a command line, hidden by its own name or looks."""
    assigned = _ASSIGNMENT.fullmatch(word)
    if assigned and "://" not in word and is_secret_name(assigned[1]):
        return word[: assigned.start(2)] + HIDDEN
    return _RUN.sub(_hide_random, redact(word))


def _hidden_words(argv: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (word, what is shown of it)."""
    pairs, after_secret = [], False
    for word in argv:
        shown = HIDDEN if after_secret and not word.startswith("--") else _argument(word)
        pairs.append((word, shown))
        after_secret = bool(_OPTION.fullmatch(word)) and is_secret_name(word)
    return pairs


def _value_hidden(word: str, shown: str) -> str:
    """The part of a word that is not shown."""
    before, _, after = shown.partition(HIDDEN)
    return word[len(before) : len(word) - len(after.rpartition(HIDDEN)[2])]


def _spellings(value: str) -> Iterator[str]:
    """A secret as a log, a URL, a header or a transcript may spell it; its lines by themselves."""
    if len(value) < _SHORTEST:
        return
    raw = value.encode("utf-8", "surrogateescape")
    for text in (value, *value.splitlines()):
        yield text
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield repr(text)[1:-1]
        yield repr(text.encode("utf-8", "surrogateescape"))[2:-1]
    yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))
    yield base64.b64encode(raw).decode().rstrip("=")
    yield base64.urlsafe_b64encode(raw).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Hides the secret values of one launch, and what looks like a secret, in any text."""

    secrets: tuple[str, ...] = ()
    """Longest first, so that a secret within a secret leaves nothing behind."""

    @classmethod
    def of(cls, launch: Launch, surroundings: Mapping[str, str] | None = None) -> Redactor:
        """Secrets in the arguments of a launch, its changes, and the environment it inherits."""
        env = {**(os.environ if surroundings is None else surroundings), **launch.env}
        by_name = [value for name, value in env.items() if value and is_secret_name(name)]
        by_word = [
            _value_hidden(word, shown)
            for word, shown in _hidden_words(launch.argv)
            if word != shown
        ]
        told = {part for value in (*by_name, *by_word) for part in _spellings(value)}
        long = {value for value in told if len(value) >= _SHORTEST}
        return cls(tuple(sorted(long, key=lambda value: (-len(value), value))))

    def text(self, text: str) -> str:
        """Text for people or files."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return redact(text)

    def brief(self, text: str, most: int = _BRIEF) -> str:
        """Text for a sentence: hidden first and then cut, or half of a secret would be left."""
        shown = self.text(text)
        return shown if len(shown) <= most else f"{shown[: most - 3]}..."

    def within(self, value: object) -> object:
        """A value that is to be written as JSON, each string in it as it may be shown."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.within(name): self.within(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(each) for each in value]
        return value

    def raw(self, data: bytes) -> bytes:
        """Bytes that may hold anything; other bytes than those of secrets stay as they are."""
        for secret in self.secrets:
            data = data.replace(secret.encode("utf-8", "surrogateescape"), HIDDEN.encode())
        return redact(data.decode("latin-1")).encode("latin-1")

    def argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """A command line as it may be shown."""
        return tuple(self.text(shown) for _, shown in _hidden_words(argv))

    def env(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Changes to an environment as they may be shown; a variable taken away is ``(unset)``."""
        return {name: self._variable(name, value) for name, value in changes.items()}

    def _variable(self, name: str, value: str | None) -> str:
        if value is None:
            return "(unset)"
        return HIDDEN if is_secret_name(name) else self.text(_RUN.sub(_hide_random, value))


PATTERNS_ONLY = Redactor()
"""For what is known of no launch: hides only what looks like a secret by itself."""


def without_secrets(found: Finding, hide: Redactor) -> Finding:
    """A finding that may be told: judges quote whatever they saw, whole."""
    return replace(found, summary=hide.brief(found.summary))
