"""Probing quirks: what each installed parser does differently, found by running it.

The key insight: hand-made probes hold every known class once; generated documents from a fixed seed
find how classes combine. What both together show is the parser's list of quirks.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

from fuzz.examine import Examiner, agrees, reading
from oracles.agreement import divergence, effect_of, is_known
from oracles.document import judge_document
from oracles.features import features
from oracles.quirks import Quirks
from strategies.damage import apply_damage
from strategies.json_text import json_text
from strategies.records import Frame
from strategies.source import RandomSource
from targets.parsers.configs import CONFIGS, library_versions

__all__ = ["PROBES", "probe"]

_GENERATED = 4_000
_FLOATS = 300
_SEED = 20_260_728

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


def probe(generated: int = _GENERATED) -> Quirks:
    """Run every probe and ``generated`` documents through every parser and list divergences."""
    examiner = Examiner(CONFIGS, ())
    known: dict[str, set[str]] = defaultdict(set)
    for raw in _inputs(generated):
        _learn(raw, examiner, known)
    return Quirks(library_versions(), {name: frozenset(found) for name, found in known.items()})


def _inputs(generated: int) -> Iterator[bytes]:
    yield from PROBES
    # Typed parsers see a value only inside of their envelope, in a member that they skip.
    yield from (b'{"jsonrpc":"2.0","x":%s}' % raw for raw in PROBES)
    # Parsers of incomplete texts go on where others stop.
    for head in (b"[", b'{"a":', b'[{"a":1,"b":['):
        yield from (head + raw for raw in PROBES)
    source = RandomSource(random.Random(_SEED))
    for _ in range(_FLOATS):
        yield b"%d.%de%d" % (
            source.integer(0, 9),
            source.integer(0, 10**15),
            source.integer(-30, 30),
        )
    for _ in range(generated):
        text = json_text(source)
        if source.chance(2, 3):
            frames, _, _ = apply_damage(source, [Frame(text + b"\n")], "2025-11-25")
            yield from b"".join(frame.raw for frame in frames).split(b"\n")
        else:
            yield text


def _learn(raw: bytes, examiner: Examiner, known: dict[str, set[str]]) -> None:
    """Add what one document shows, unless what is known already explains it.

    A document with several features gives one joint quirk, so that a combination never passes for
    a class of its own parts.
    """
    strict, spec = judge_document(raw), judge_document(raw, profile="spec")
    expect = reading(spec)
    names = features(raw, strict, spec)
    for config, outcome in examiner.outcomes(raw):
        if config.strict or agrees(outcome, expect, typed=config.typed):
            continue
        effect = effect_of(outcome, expect)
        if not is_known(effect, names, known[config.name]):
            known[config.name].add(divergence(effect, names))
