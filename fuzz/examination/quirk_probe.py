"""Probe the quirks of each installed parser: run many documents, and record what it does
differently.

Hand-written probes contain every known class once, alone and in each place of a document. Pairs of
them show how classes combine. Depths, every damage operator and cases of a fixed seed cover what
campaigns send. All divergences together are the parser's quirks.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from wirefence.fuzz.examination.cases import generate_block
from wirefence.fuzz.examination.examiner import Examiner, agrees_with_judge, make_reading
from wirefence.oracles.agreement import effect_of, is_known, name_divergence
from wirefence.oracles.document import judge_document
from wirefence.oracles.quirks import Quirks
from wirefence.oracles.traits import find_groups
from wirefence.strategies.damage import OPERATORS, Operator, apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Case, Frame, Version
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source
from wirefence.targets.parsers.configs import CONFIGS, library_versions

__all__ = ["DEPTHS", "DIGITS", "PROBES", "probe_quirks"]

_SEED = 20_260_728
_FLOATS = 300
"""Random floats; enough to hit each rounding of the parsers at least once."""
_BLOCKS = 4
"""Blocks of campaign cases; forty more found nothing that the other probes do not find."""

_VERSIONS: tuple[Version, ...] = ("2025-03-26", "2026-07-28")
"""Every operator fits a message of one of these: only the first has batches, only the second has
version and capabilities in each request.
"""

_TRIES = 16
"""Sessions generated to find one that an operator fits."""
_FILLER = 100_000
"""Bytes of the longest run of one byte. No parser has a limit between that and the 10 MB of an
operator, and parsers take seconds for those.
"""

_RUN = re.compile(rb"([^\[\]{}0-9])\1{%d,}" % _FILLER)

DEPTHS = (
    *(129, 150, 200, 201, 256, 512, 900, 990, 1_000, 1_001, 1_024, 1_025, 1_500, 2_048, 4_096),
    *(10_001, 100_000),
)
"""Nested containers. Parsers stop at 200, 1,000 and 1,024; interpreters at their recursion limit,
or since 3.12 at a limit of their own for C code, between 800 and 10,000, or by stack size."""

DIGITS = (
    *(16, 17, 19, 20, 21, 38, 39, 40, 308, 309, 310, 400, 640, 767, 768, 1_000, 1_001),
    *(4_096, 4_300, 4_301, 5_000),
)
"""Digits of a number: 64 bits end at 19 or 20, binary64 at 309, ``int()`` at 4,300."""

PROBES: tuple[bytes, ...] = tuple(
    text.encode("latin-1")
    for text in (
        "",
        " ",
        "nan",
        "NaN",
        "-NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "[1,]",
        '{"a":1,}',
        "/*c*/1",
        "//c\n1",
        "1//c",
        "1/*c*/",
        "[1/*c*/]",
        "[1,/*c*/2]",
        "#c\n1",
        "01",
        "-01",
        "-",
        "-.5",
        ".5",
        "1.",
        "+1",
        "1e",
        "1e+",
        "0x1F",
        "'a'",
        "\x0c1",
        "\x0b1",
        "1\x00",
        "\x001",
        "\xc2\xa01",
        "\xe2\x80\xa81",
        "-0",
        "-0.0",
        '"\x00"',
        '"\x01"',
        '"\t"',
        '"\\x41"',
        '"\\u+041"',
        '"\\ud800"',
        '"\\udc00"',
        '"\\ud834\\udd1e"',
        '{"\\ud800":1}',
        '"\\u0000"',
        '"\xed\xa0\x80"',
        '"\xff"',
        '"\x80"',
        '"\xc0\xaf"',
        '"\xf4\x90\x80\x80"',
        "\xef\xbb\xbf1",
        "1\x00",
        "1\x00\x00\x00",
        "\xff\xfe1\x00",
        "9007199254740993",
        "9223372036854775808",
        "18446744073709551616",
        "100000000000000000000",
        "-9223372036854775809",
        "1" * 310,
        "1" * 1001,
        "1" * 4301,
        "0." + "1" * 4400,
        "1e400",
        "-1e400",
        "1.8e308",
        "1e309",
        "1e-400",
        "0e400",
        "-1e+9999",
        "1.5e+9999",
        "123.456e-789",
        "123123e100000",
        "0.4e" + "9" * 80,
        "0.4e-" + "9" * 80,
        "5e-324",
        "1.00000000000000011102230246251565404236316680908203126",
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"2":0,"1":0}',
        "[1",
        '{"a":1',
        '"a',
        "1 2",
        "{}{}",
        "[1]x",
        "[1}",
        "tru",
        "[" * 200 + "]" * 200,
        "[" * 1000 + "]" * 1000,
        "[" * 1025 + "]" * 1025,
        "[" * 500,
    )
)


def probe_quirks(blocks: int = _BLOCKS) -> Quirks:
    """Run every probe, and ``blocks`` blocks of campaign cases, through every parser.

    Returns the divergences of each parser that has any.
    """
    examiner = Examiner(CONFIGS, ())
    known: dict[str, set[str]] = defaultdict(set)
    seen: set[bytes] = set()
    singular: dict[frozenset[str], bytes] = {}
    for raw in _embed_probes(PROBES):
        names = _add_quirks(raw, examiner, known, seen)
        singular.setdefault(names, raw)
    for raw in (
        *_pair_probes(list(singular.values())),
        *_generate_sizes(),
        *_generate_damaged(blocks),
    ):
        _add_quirks(raw, examiner, known, seen)
    return Quirks(
        library_versions(), {name: _drop_explained_quirks(found) for name, found in known.items()}
    )


_PLACES = (
    b"%s", b"[%s]", b'{"a":%s}', b'{"jsonrpc":"2.0","x":%s}', b"[1,%s]", b"[%s,1]", b'[{"a":%s}]',
    b"[%s", b'{"a":%s', b'[{"a":1,"b":[%s', b"%s 1", b"1 %s", b"{}%s", b"[%s]]", b" %s\r",
)  # fmt: skip
"""Places of a probe: alone, as an item or member, in a truncated text, before or after others."""


def _embed_probes(probes: Sequence[bytes]) -> Iterator[bytes]:
    for place, raw in product(_PLACES, probes):
        yield place.replace(b"%s", raw)


def _pair_probes(probes: Sequence[bytes]) -> Iterator[bytes]:
    """Yield arrays of two short probes, since one text may combine several classes."""
    short = [raw for raw in probes if len(raw) < 40]
    for one, other in product(short, repeat=2):
        yield b"[%b,%b]" % (one, other)


def _generate_sizes() -> Iterator[bytes]:
    """Yield depths and digits around the limits of parsers and interpreters, and random floats."""
    for depth in DEPTHS:
        for opener, closer in ((b"[", b"]"), (b'{"a":', b"}")):
            yield opener * depth + b"1" + closer * depth
            yield opener * depth
            yield b'{"jsonrpc":"2.0","x":%b1%b}' % (opener * depth, closer * depth)
    for count in DIGITS:
        for number in (
            b"1" * count,
            b"0." + b"1" * count,
            b"1" * count + b".5",
            b"%be-%d" % (b"1" * count, count),
        ):
            yield number
            yield b"[-%b]" % number
            yield b'{"jsonrpc":"2.0","x":%b}' % number
    source = RandomSource(random.Random(_SEED))
    for _ in range(_FLOATS):
        yield b"%d.%de%d" % (
            source.integer(0, 9),
            source.integer(0, 10**15),
            source.integer(-30, 30),
        )


def _generate_damaged(blocks: int) -> Iterator[bytes]:
    """Yield lines of sessions and texts damaged by each operator, and of campaign cases."""
    source = RandomSource(random.Random(_SEED))
    for operator, version in _pair_operators():
        yield from _split_documents(_generate_damaged_session(source, operator, version).data)
        text = Frame(json_text(source) + b"\n")
        frames, _, _ = apply_damage(source, [text], version, operator)
        yield from _split_documents(b"".join(frame.raw for frame in frames))
    for number in range(blocks):
        for case in generate_block(_SEED, number):
            yield from _split_documents(case.data)


def _pair_operators() -> Iterator[tuple[Operator, Version]]:
    """Yield each operator with some versions that it is for; a heavy one with one of them."""
    for operator in OPERATORS:
        fitting = [version for version in _VERSIONS if version in operator.versions]
        fitting = fitting or list(operator.versions)
        yield from product([operator], fitting[:1] if operator.heavy else fitting)


def _generate_damaged_session(source: Source, operator: Operator, version: Version) -> Case:
    """Return a session that ``operator`` damaged, if a few tries find a message that it fits."""
    damage = partial(apply_damage, operator=operator)
    for _ in range(_TRIES):
        made = session(source, version, damage=damage, prefix="q-", always=True)
        if operator.name in made.damages():
            break
    return made


def _split_documents(data: bytes) -> list[bytes]:
    """Return the lines of a session; a run of one byte is cut to :data:`_FILLER`."""
    if len(data) > _FILLER:
        data = _RUN.sub(lambda run: run[1] * _FILLER, data)
    return data.split(b"\n")


def _add_quirks(
    raw: bytes, examiner: Examiner, known: dict[str, set[str]], seen: set[bytes]
) -> frozenset[str]:
    """Add the quirks that one document shows and known ones do not explain; return its groups.

    A document with several groups gives one joint quirk, so that a combination is never taken for
    one of its parts.
    """
    names = find_groups(raw)
    if raw in seen:
        return names
    seen.add(raw)
    expect = make_reading(judge_document(raw, profile="spec"))
    for config, outcome in examiner.run_parsers(raw):
        if config.strict or agrees_with_judge(outcome, expect, typed=config.typed):
            continue
        effect = effect_of(outcome, expect)
        if not is_known(effect, names, known[config.name]):
            known[config.name].add(name_divergence(effect, names))
    return names


def _drop_explained_quirks(found: set[str]) -> frozenset[str]:
    """Return the quirks that no other one of the same effect and fewer groups explains."""
    kept = set()
    for quirk in found:
        effect, _, names = quirk.partition(": ")
        if not is_known(effect, frozenset(names.split("+")), found - {quirk}):
            kept.add(quirk)
    return frozenset(kept)
