"""Bytes that are not the UTF-8 of a JSON text.

A replacing decoder turns distinct ids and actions into one; a sniffing one reads other encodings.
"""

from __future__ import annotations

import codecs

from wirefence.strategies.damage.base import Expect, Operator, Scene, rewrite
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.damage.spans import find, replace_value, string_places
from wirefence.strategies.damage.structure import into_meta
from wirefence.strategies.source import Source

__all__ = ["INSERTS", "OPERATORS", "WHOLE"]

_REPLACE = "decoders with errors='replace', and lenient C decoders"
_CONTROL = "json.loads(strict=False), ujson"
_LONE = "json, simplejson, ujson and Node keep lone surrogates; others reject"

INSERTS: tuple[tuple[str, bytes, Expect, str], ...] = (
    ("bare-continuation", b"\x80", "reject", _REPLACE),
    ("overlong-2", b"\xc0\xaf", "reject", _REPLACE),
    ("overlong-3", b"\xe0\x80\xaf", "reject", _REPLACE),
    ("overlong-4", b"\xf0\x80\x80\xaf", "reject", _REPLACE),
    ("overlong-quote", b"\xc0\xa2", "reject", "filters that decode overlong forms after the check"),
    ("overlong-nul", b"\xc0\x80", "reject", "Java's modified UTF-8"),
    ("raw-surrogate", b"\xed\xa0\x80", "reject", "json and ujson on bytes"),
    ("raw-low-surrogate", b"\xed\xb0\x80", "reject", "json and ujson on bytes"),
    ("cesu-8", b"\xed\xa0\xbd\xed\xb8\x80", "reject", "CESU-8 writers; json and ujson on bytes"),
    ("above-10ffff", b"\xf4\x90\x80\x80", "reject", _REPLACE),
    ("five-bytes", b"\xf8\x88\x80\x80\x80", "reject", "RFC 2279's longer forms"),
    ("byte-ff", b"\xff", "reject", _REPLACE),
    ("latin-1", b"\xe9", "reject", "a writer in the locale's encoding"),
    ("cut-short-2", b"\xc3", "reject", _REPLACE),
    ("cut-short-3", b"\xe2\x80", "reject", _REPLACE),
    ("cut-short-4", b"\xf0\x9f\x98", "reject", _REPLACE),
    ("escaped-high-surrogate", b"\\ud83d", "profile", _LONE),
    ("escaped-low-surrogate", b"\\ude00", "profile", _LONE),
    ("escaped-swapped-surrogates", b"\\ude00\\ud83d", "profile", _LONE),
    ("raw-nul", b"\x00", "reject", _CONTROL),
    ("raw-tab", b"\t", "reject", _CONTROL),
    ("raw-escape", b"\x1b", "reject", _CONTROL),
    ("raw-cr-in-string", b"\r", "reject", _CONTROL),
    ("hex-escape", b"\\x41", "reject", "JavaScript and Python string literals"),
    ("octal-escape", b"\\101", "reject", "C string literals"),
    ("short-unicode-escape", b"\\u41 ", "reject", "lexers that call a lax hex reader"),
    ("signed-unicode-escape", b"\\u+041", "reject", "lexers that call int(text, 16)"),
    ("noncharacter", "\uffff".encode(), "profile", "filters that take noncharacters for errors"),
)

WHOLE: tuple[tuple[str, str, bytes, str], ...] = (
    ("utf-16-le", "utf-16-le", b"", "json.loads on bytes guesses UTF-16"),
    ("utf-16-be", "utf-16-be", b"", "json.loads on bytes guesses UTF-16"),
    ("utf-16-bom", "utf-16-le", codecs.BOM_UTF16_LE, "PowerShell pipes"),
    ("utf-32-le", "utf-32-le", b"", "json.loads on bytes guesses UTF-32"),
    ("utf-32-be", "utf-32-be", b"", "json.loads on bytes guesses UTF-32"),
    ("utf-32-bom", "utf-32-le", codecs.BOM_UTF32_LE, "json.loads on bytes guesses UTF-32"),
)

_OTHER_TEXT = (
    *("none", "rpc-version:string", "rpc-batch:bad-member", "mcp-method:unknown"),
    *("mcp-version:unsupported", "life-not-initialized:request", "tool-unknown:other"),
    *("tool-arguments:choice", "identity-unknown:near", "mcp-params:*", "mcp-meta:*"),
)
"""What is wrong where one of the strings of a message, whichever it is, holds another text."""

_INSERT_DEVIATIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("raw-surrogate", "raw-low-surrogate", "cesu-8"), ("utf8-invalid:surrogate-bytes",)
    ),
    "escaped-high-surrogate": ("json-lone-surrogate:lone-hi", *_OTHER_TEXT),
    "escaped-low-surrogate": ("json-lone-surrogate:lone-lo", *_OTHER_TEXT),
    "escaped-swapped-surrogates": ("json-lone-surrogate:lone-hi", *_OTHER_TEXT),
    "raw-nul": ("json-syntax:nul-in-string",),
    **dict.fromkeys(("raw-tab", "raw-escape"), ("json-syntax:control-in-string",)),
    "raw-cr-in-string": ("frame-cr:in-string", "json-syntax:control-in-string"),
    **dict.fromkeys(("hex-escape", "octal-escape"), ("json-syntax:bad-escape",)),
    "short-unicode-escape": ("json-syntax:lax-hex", "json-syntax:bad-escape"),
    "signed-unicode-escape": ("json-syntax:lax-hex",),
    "noncharacter": (*_OTHER_TEXT, "life-not-ready:request"),
}
"""By the name of the bytes, where they are not simply no UTF-8."""


def _insert(name: str, text: bytes, expect: Expect, origin: str) -> Operator:
    @rewrite(
        f"encoding-{name}",
        "encoding",
        expect,
        f"{text!r} inside a string",
        origin,
        deviations=_INSERT_DEVIATIONS.get(name, ("utf8-invalid:invalid-utf8",)),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        places = string_places(scene.frame.raw)
        if not places:
            return None
        place = source.choice(places)
        return scene.frame.raw[:place] + text + scene.frame.raw[place:]

    return operator


@rewrite(
    "encoding-surrogate-token",
    "encoding",
    "reject",
    "the caller's token holds half of a character, escaped",
    "comparisons in constant time that encode both sides first",
    host=CALL,
    deviations=(
        "json-lone-surrogate:lone-hi",
        "json-lone-surrogate:lone-lo",
        "identity-unknown:other",
    ),
)
def _token(source: Source, scene: Scene) -> bytes | None:
    member = find(scene.frame.raw, b"params", b"_meta", b"wirefence/token")
    if member is None:
        return None
    value = source.choice((b'"\\ud83d"', b'"operator\\ude00"'))
    return replace_value(scene.frame.raw, member, value)


def _whole(name: str, codec: str, mark: bytes, origin: str) -> Operator:
    ascii_only = () if mark else ("json-syntax:utf16-or-utf32",)

    @rewrite(
        f"encoding-{name}",
        "encoding",
        "reject",
        f"the whole frame in {codec}",
        origin,
        deviations=(*ascii_only, "utf8-invalid:utf16-or-utf32"),
    )
    def operator(source: Source, scene: Scene) -> bytes | None:
        del source
        text = mark + scene.body.decode(errors="replace").encode(codec, "replace")
        # Half of a character may be a line end, which would be damage of another kind.
        return None if b"\n" in text or b"\r" in text else text + b"\n"

    return operator


@rewrite(
    "encoding-utf-7",
    "encoding",
    "reject",
    "the whole frame in utf-7",
    "old mail gateways",
    deviations=("json-syntax:foreign-text", "json-syntax:unknown-word"),
)
def _utf_7(source: Source, scene: Scene) -> bytes | None:
    """Spell the first brace in base64 too: a frame of plain ASCII would stay as it is."""
    del source
    before, brace, after = scene.body.decode(errors="replace").partition("{")
    if not brace:
        return None
    return before.encode("utf-7") + b"+AHs-" + after.encode("utf-7") + b"\n"


@rewrite(
    "encoding-bom",
    "encoding",
    "reject",
    "EF BB BF before the message",
    "Windows editors and shells",
    deviations=("utf8-bom:bom",),
)
def _bom(source: Source, scene: Scene) -> bytes:
    del source
    return codecs.BOM_UTF8 + scene.frame.raw


@rewrite(
    "encoding-bom-inside",
    "encoding",
    "reject",
    "U+FEFF as white space",
    "utf-8-sig writers",
    deviations=("json-syntax:unicode-space",),
)
def _bom_inside(source: Source, scene: Scene) -> bytes | None:
    del source
    brace = scene.frame.raw.find(b"{")
    return scene.frame.raw[: brace + 1] + codecs.BOM_UTF8 + scene.frame.raw[brace + 1 :]


@rewrite(
    "encoding-surrogate-name",
    "encoding",
    "profile",
    "half of a character, escaped, as a name in _meta",
    _LONE,
    deviations=("json-lone-surrogate:surrogate-key", "none"),
)
def _surrogate_name(source: Source, scene: Scene) -> bytes | None:
    half = source.choice((b"\\ud83d", b"\\ude00"))
    return into_meta(scene.frame.raw, b'"%b":1' % half)


OPERATORS: tuple[Operator, ...] = (
    *(_insert(*row) for row in INSERTS),
    *(_whole(*row) for row in WHOLE),
    _token,
    _utf_7,
    _bom,
    _bom_inside,
    _surrogate_name,
)
