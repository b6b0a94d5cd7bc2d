"""Texts that are nearly JSON: literals, comments, commas, values that don't end or don't stop."""

from __future__ import annotations

from collections.abc import Iterator

from wirefence.fuzz.compare.inputs.seeds.base import VALUE_PLACES, Family, make_family, place_tokens

__all__ = ["FAMILIES"]

_LITERALS = (b"null", b"true", b"false", b"NaN", b"Infinity", b"-Infinity", b"-NaN")
_FOREIGN = (
    *(b"nan", b"NAN", b"Nan", b"+NaN", b"NaN0", b"inf", b"Inf", b"INF", b"-inf", b"-Inf", b"+inf"),
    *(b"infinity", b"INFINITY", b"+Infinity", b"-infinity", b"Infinit", b"None", b"True", b"False"),
    *(b"undefined", b"nil", b"NULL", b"TRUE", b"yes", b"no", b"on", b"new Date(0)", b"nulll"),
    *(b"1.#INF", b"1.#QNAN", b"snan", b"NaN(1)", b"Infinity1", b"a", b"_", b"$", b"@", b"\\", b"`"),
)
_DOCUMENTS = (
    b'{"a":[1,-2.5e3,"b\\u00e9",true,false,null,{}],"c":{"d":[]}}',
    b'[{"id":1,"method":"tools/call"},"\\ud834\\udd1e\xc3\xa9",12345678901234567890]',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"k":"\\n"}}}',
)
_COMMENTS = (
    b"/*c*/",
    b"//c\n",
    b"//c",
    b"#c\n",
    b"#c",
    b"/**/",
    b"/*",
    b"*/",
    b"<!--c-->",
    b"--c\n",
)
_BETWEEN = (
    b"",
    b" ",
    b",",
    b"\n",
    b"\r",
    b"\x00",
    b";",
    b":",
    b"\x1e",
    b"/",
    b"//",
    b"\xff",
    b"\\",
)
_WHOLE = (b"1", b"null", b"[]", b"{}", b'"a"', b'{"a":1}')
_ODD = (
    *(b"[,]", b"[1,]", b"[,1]", b"[1,,2]", b'{"a":1,}', b'{,"a":1}', b'{"a":1,,"b":2}', b"{,}"),
    *(b'{"a"}', b'{"a":}', b"{:1}", b'{"a" 1}', b'{"a"::1}', b'{"a":1:2}', b"{1:2}", b"{a:1}"),
    *(b"{null:1}", b"{true:1}", b"{[]:1}", b"{{}:1}", b"{'a':1}", b"['a']", b"[1 2]", b'["a" "b"]'),
    *(
        b"[}",
        b"{]",
        b"[1}",
        b'{"a":1]',
        b"]",
        b"}",
        b"[]]",
        b"{}}",
        b"[[]",
        b"[1",
        b"[1,",
        b"[",
        b"{",
    ),
    *(
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,',
        b'{"',
        b'["',
        b'"',
        b'"\\',
        b'"\\u',
        b'"\\u00',
        b",",
    ),
    *(
        b":",
        b",1",
        b"1,",
        b"[1];",
        b"(1)",
        b"<1>",
        b"[1]\\",
        b'""""',
        b'"a""b"',
        b"''",
        b"``",
        b"\\n",
    ),
)


def _misspell_word(word: bytes) -> Iterator[bytes]:
    """Every spelling of a word with one letter missing, doubled, of other case or replaced."""
    for at, letter in enumerate(word):
        head, tail = word[:at], word[at + 1 :]
        yield from (head, head + tail, head + bytes((letter, letter)) + tail)
        yield from (
            head + bytes((letter ^ 0x20,)) + tail,
            head + b"\x00" + tail,
            head + b"x" + tail,
        )
    yield from (word + b"1", word + b"a", word + b'"', word + b" x", word.upper(), word + b"\x00")


@make_family("nan", "infinity", "inf-short", "-NaN")
def literals() -> Iterator[bytes]:
    """JSON's three literals, the three of Python and JavaScript, and what looks like them."""
    near = [each for word in _LITERALS for each in (word, *_misspell_word(word))]
    yield from place_tokens(dict.fromkeys([*near, *_FOREIGN]))


@make_family("trailing-comma", "single-quotes", "hexadecimal")
def structure() -> Iterator[bytes]:
    """Commas, colons, names and brackets where they don't belong."""
    yield from place_tokens(_ODD)


@make_family("block-comment", "line-comment", "trailing-comment")
def comments() -> Iterator[bytes]:
    """Comments before, behind and between the tokens of a document."""
    for comment in _COMMENTS:
        yield from place_tokens(
            (b"1", b"[]", b'""'), ((comment, b""), (b"", comment), (b" ", b" " + comment))
        )
        yield from (b"[%b1,2]" % comment, b"[1%b,2]" % comment, b"[1,2%b]" % comment)
        yield from (b'{%b"a":1}' % comment, b'{"a"%b:1}' % comment, b'{"a":%b1}' % comment)


@make_family("concat/trailing")
def concatenations() -> Iterator[bytes]:
    """Two whole documents, or one and a rest, with something between them."""
    for first in _WHOLE:
        for between in _BETWEEN:
            yield from (between + first, first + between)
            yield from (first + between + second for second in _WHOLE)


@make_family("unclosed-prefix", "empty-frame")
def truncations() -> Iterator[bytes]:
    """Every prefix and suffix of documents, also where the buffer's end follows white space."""
    for document in _DOCUMENTS:
        for end in range(len(document) + 1):
            yield from (document[:end], document[end:], document[:end] + b" ")
            yield document[:end] + document[end + 1 :]
    yield from place_tokens((b"",), (*VALUE_PLACES, (b"\n", b""), (b"\t\r\n ", b"")))


FAMILIES: tuple[Family, ...] = (literals, structure, comments, concatenations, truncations)
