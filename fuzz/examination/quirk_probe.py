"""Probe quirks: what each installed parser does differently, found by running it.

Hand-made probes hold every known class once, alone and in the places where a document can hold
them. Pairs of them show how classes combine. Depths, every damage operator and cases of a fixed
seed are what campaigns send. What all of it shows together is the parser's list of quirks.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

from wirefence.fuzz.examination.cases import block
from wirefence.fuzz.examination.examiner import Examiner, agrees, reading
from wirefence.oracles.agreement import divergence, effect_of, is_known
from wirefence.oracles.document import judge_document
from wirefence.oracles.features import features
from wirefence.oracles.quirks import Quirks
from wirefence.strategies.damage import OPERATORS, Operator, apply_damage
from wirefence.strategies.json_text import json_text
from wirefence.strategies.records import Case, Frame, Version
from wirefence.strategies.sessions import session
from wirefence.strategies.source import RandomSource, Source
from wirefence.targets.parsers.configs import CONFIGS, library_versions

__all__ = ["DEPTHS", "DIGITS", "PROBES", "probe"]

_SEED = 20_260_728
_FLOATS = 300
_BLOCKS = 4
"""Blocks of campaign cases: forty more showed nothing that the other probes do not show."""

_VERSIONS: tuple[Version, ...] = ("2025-03-26", "2026-07-28")
"""Every operator fits a message of one of these: only the first has batches, only the second has
its version and capabilities in each request."""

_TRIES = 16
_FILLER = 100_000
"""Longest run of one byte that is kept: no parser has a limit between that and the 10 MB of an
operator, and parsers take seconds for those."""

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


def probe(blocks: int = _BLOCKS) -> Quirks:
    """Run every probe, and ``blocks`` blocks of campaign cases, through every parser.

    Returns the divergences of each parser that has any.
    """
    examiner = Examiner(CONFIGS, ())
    known: dict[str, set[str]] = defaultdict(set)
    seen: set[bytes] = set()
    singular: dict[frozenset[str], bytes] = {}
    for raw in _placed(PROBES):
        names = _learn(raw, examiner, known, seen)
        singular.setdefault(names, raw)
    for raw in (*_pairs(list(singular.values())), *_sizes(), *_generated(blocks)):
        _learn(raw, examiner, known, seen)
    return Quirks(library_versions(), {name: _least(found) for name, found in known.items()})


_PLACES = (
    b"%s", b"[%s]", b'{"a":%s}', b'{"jsonrpc":"2.0","x":%s}', b"[1,%s]", b"[%s,1]", b'[{"a":%s}]',
    b"[%s", b'{"a":%s', b'[{"a":1,"b":[%s', b"%s 1", b"1 %s", b"{}%s", b"[%s]]", b" %s\r",
)  # fmt: skip
"""Where a probe stands: alone, as an item or member, in a text that is cut short or goes on."""


def _placed(probes: Sequence[bytes]) -> Iterator[bytes]:
    for place, raw in product(_PLACES, probes):
        yield place.replace(b"%s", raw)


def _pairs(probes: Sequence[bytes]) -> Iterator[bytes]:
    """Two probes in one array, where they are short: a text has as many classes as it likes."""
    short = [raw for raw in probes if len(raw) < 40]
    for one, other in product(short, repeat=2):
        yield b"[%b,%b]" % (one, other)


def _sizes() -> Iterator[bytes]:
    """Depths and digits at which a parser or an interpreter changes its mind."""
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


def _generated(blocks: int) -> Iterator[bytes]:
    """The lines of sessions and texts that each operator damages in turn, and of campaign cases."""
    source = RandomSource(random.Random(_SEED))
    for operator, version in product(OPERATORS, _VERSIONS):
        if operator.heavy and version != _VERSIONS[0]:
            continue
        yield from _lines(_damaged_session(source, operator, version).data)
        text = Frame(json_text(source) + b"\n")
        frames, _, _ = apply_damage(source, [text], version, operator)
        yield from _lines(b"".join(frame.raw for frame in frames))
    for number in range(blocks):
        for case in block(_SEED, number):
            yield from _lines(case.data)


def _damaged_session(source: Source, operator: Operator, version: Version) -> Case:
    """A session that ``operator`` damaged, if a few tries find a message that it fits."""
    damage = partial(apply_damage, operator=operator)
    for _ in range(_TRIES):
        made = session(source, version, damage=damage, prefix="q-", always=True)
        if operator.name in made.damages():
            break
    return made


def _lines(data: bytes) -> list[bytes]:
    """The documents of a session; a long run of one byte is cut to :data:`_FILLER`."""
    if len(data) > _FILLER:
        data = _RUN.sub(lambda run: run[1] * _FILLER, data)
    return data.split(b"\n")


def _learn(
    raw: bytes, examiner: Examiner, known: dict[str, set[str]], seen: set[bytes]
) -> frozenset[str]:
    """Add what one document shows, unless what is known already explains it; give its features.

    A document with several features gives one joint quirk, so that a combination never passes for
    a class of its own parts.
    """
    strict, spec = judge_document(raw), judge_document(raw, profile="spec")
    names = features(raw, strict, spec)
    if raw in seen:
        return names
    seen.add(raw)
    expect = reading(spec)
    for config, outcome in examiner.outcomes(raw):
        if config.strict or agrees(outcome, expect, typed=config.typed):
            continue
        effect = effect_of(outcome, expect)
        if not is_known(effect, names, known[config.name]):
            known[config.name].add(divergence(effect, names))
    return names


def _least(found: set[str]) -> frozenset[str]:
    """The quirks that no other one of the same effect and fewer features explains."""
    kept = set()
    for quirk in found:
        effect, _, names = quirk.partition(": ")
        if not is_known(effect, frozenset(names.split("+")), found - {quirk}):
            kept.add(quirk)
    return frozenset(kept)
