"""Remove secrets of a launch from everything that is shown or stored.

A secret is known by its name (an option, variable or header) or by its value. The value behind a
secret name is collected first, and then hidden wherever it occurs, in any usual spelling: in
command lines, in stderr, in bytes that a server echoed.
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

__all__ = ["HIDDEN", "PATTERNS_ONLY", "Redactor", "is_secret_name", "redact_finding", "redact_text"]

HIDDEN = "***"
"""Replaces each secret."""

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
# Each runs in linear time, since a server controls the text: no pattern scans ahead over
# characters that the next match attempt would scan again.
_TEXT_RULES = (
    re.compile(r"((?<=[\w+.-])://)[^/\s@\"'<>]+(?=@)"),
    re.compile(
        r"(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:[a-z]+\s+)?)(?!\s)[^\s\"',;]+", re.I
    ),
    re.compile(  # a value may be in quotes (RFC 6265, section 4.1.1), escaped or not
        r"(\b(?:set-)?cookie[\"']?\s*:\s*[\"']?)[^\r\n\"']+"
        r"(?:(?:(?<==)|(?<==\\))\"[^\r\n\"']*\"?[^\r\n\"']*)*",
        re.I,
    ),
    re.compile(r"(\bx-(?:api-key|auth-token)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]+", re.I),
    re.compile(r"(\bbearer\s+)[\w.~+/=-]{6,}", re.I),
    re.compile(r"([?&][\w-]*(?:token|key|secret|password|signature|sig)=)[^&\s\"']+", re.I),
)
_LONG_WORD = re.compile(r"[A-Za-z0-9_+-]{24,}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_MIN_ENTROPY = 3.5
"""Bits for each character above which a long word may be a random key; English words have fewer."""
_MIN_CHANGES = 6
"""Changes between digit and letter from which a word without mixed case may be a random key."""
_MIN_SECRET = 6
"""Characters. Shorter values are hidden only next to their name: ``1`` occurs everywhere."""
_MAX_SENTENCE = 300
"""Characters of a quoted text that still fit a sentence of a report."""


def is_secret_name(name: str) -> bool:
    """Return whether a variable or option with this name holds a secret (``API_KEY``,
    ``--dbPassword``).
    """
    words = _CAMEL.sub("_", name.lstrip("-")).replace("-", "_").replace(".", "_").upper()
    return words not in _NOT_SECRET and not _PUBLIC.search(words) and bool(_NAME.search(words))


def _is_random(text: str) -> bool:
    """Return whether a word looks like a random key: mixed kinds of characters without order."""
    if _HEX.fullmatch(text):
        return True
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())
    mixed = all(re.search(kind, text) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    changes = sum(
        a.isdigit() != b.isdigit() and a.isalnum() and b.isalnum() for a, b in pairwise(text)
    )
    return bits >= _MIN_ENTROPY and (mixed or changes >= _MIN_CHANGES)


def _redact_random(match: re.Match[str]) -> str:
    return HIDDEN if _is_random(match[0]) else match[0]


def redact_text(text: str) -> str:
    """Remove what looks like a secret by itself: headers, user info in URLs, known tokens."""
    for rule in _TEXT_RULES:
        text = rule.sub(rf"\1{HIDDEN}", text)
    return _PREFIXED.sub(HIDDEN, text)


def _redact_word(word: str) -> str:
    """Redact a word of a command line by its own name or form."""
    assigned = _ASSIGNMENT.fullmatch(word)
    if assigned and "://" not in word and is_secret_name(assigned[1]):
        return word[: assigned.start(2)] + HIDDEN
    return _LONG_WORD.sub(_redact_random, redact_text(word))


def _redact_words(argv: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs (word, redacted word)."""
    pairs, after_secret = [], False
    for word in argv:
        shown = HIDDEN if after_secret and not word.startswith("--") else _redact_word(word)
        pairs.append((word, shown))
        after_secret = bool(_OPTION.fullmatch(word)) and is_secret_name(word)
    return pairs


def _find_hidden_part(word: str, shown: str) -> str:
    """Return the part of a word that was redacted."""
    before, _, after = shown.partition(HIDDEN)
    return word[len(before) : len(word) - len(after.rpartition(HIDDEN)[2])]


def _list_spellings(value: str) -> Iterator[str]:
    """Yield a secret, and each line of it, as a log, URL, header or transcript may spell it."""
    if len(value) < _MIN_SECRET:
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
    """Removes the secret values of one launch, and what looks like a secret, from any text."""

    secrets: tuple[str, ...] = ()
    """Longest first, so that a secret that contains another one is replaced as a whole."""

    @classmethod
    def for_launch(cls, launch: Launch, surroundings: Mapping[str, str] | None = None) -> Redactor:
        """Collect the secrets in a launch's arguments, its variables and the inherited
        environment.
        """
        env = {**(os.environ if surroundings is None else surroundings), **launch.env}
        by_name = [value for name, value in env.items() if value and is_secret_name(name)]
        by_word = [
            _find_hidden_part(word, shown)
            for word, shown in _redact_words(launch.argv)
            if word != shown
        ]
        told = {part for value in (*by_name, *by_word) for part in _list_spellings(value)}
        long = {value for value in told if len(value) >= _MIN_SECRET}
        return cls(tuple(sorted(long, key=lambda value: (-len(value), value))))

    def redact_text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return redact_text(text)

    def redact_and_shorten(self, text: str, most: int = _MAX_SENTENCE) -> str:
        """Return ``text`` without secrets, at most ``most`` characters; cut after redaction."""
        shown = self.redact_text(text)
        return shown if len(shown) <= most else f"{shown[: most - 3]}..."

    def redact_json(self, value: object) -> object:
        """Return a JSON value with secrets removed from each string in it."""
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return {self.redact_json(name): self.redact_json(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.redact_json(each) for each in value]
        return value

    def redact_bytes(self, data: bytes) -> bytes:
        """Return ``data`` without secrets; all other bytes stay as they are."""
        for secret in self.secrets:
            data = data.replace(secret.encode("utf-8", "surrogateescape"), HIDDEN.encode())
        return redact_text(data.decode("latin-1")).encode("latin-1")

    def redact_argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return a command line without secrets."""
        return tuple(self.redact_text(shown) for _, shown in _redact_words(argv))

    def redact_env(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Return changes to an environment without secrets; a removed variable is ``(unset)``."""
        return {name: self._redact_variable(name, value) for name, value in changes.items()}

    def _redact_variable(self, name: str, value: str | None) -> str:
        if value is None:
            return "(unset)"
        return (
            HIDDEN
            if is_secret_name(name)
            else self.redact_text(_LONG_WORD.sub(_redact_random, value))
        )


PATTERNS_ONLY = Redactor()
"""For text that belongs to no launch: removes only what looks like a secret by itself."""


def redact_finding(found: Finding, hide: Redactor) -> Finding:
    """Return a finding without secrets in its summary, which may quote anything a server wrote."""
    return replace(found, summary=hide.redact_and_shorten(found.summary))
