"""All parsers agree: with the judge, but for the differences that are known of each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wirefence import strategies
from wirefence.fuzz.examination.examiner import Examiner
from wirefence.fuzz.examination.plan import load_known_quirks
from wirefence.oracles.document import judge_document
from wirefence.targets.parsers.canonical import encode_value
from wirefence.targets.parsers.configs import CONFIGS, STRICT
from wirefence.targets.parsers.outcomes import outcomes_of
from wirefence.targets.records import Outcome

DOCUMENTS = st.one_of(
    strategies.json_texts(lone_surrogates=True),
    strategies.messages().map(lambda message: message.encode()),
    strategies.damaged_frames().map(lambda damaged: damaged.raw.rstrip(b"\n")),
)
EVERY_PARSER = Examiner(CONFIGS, gateways=(), quirks=load_known_quirks())


@given(DOCUMENTS)
def test_all_parsers_agree_but_for_what_is_known_of_them(document: bytes) -> None:
    assert EVERY_PARSER.examine_document(document) == []


@given(DOCUMENTS)
def test_every_strict_parser_agrees_with_the_judge(document: bytes) -> None:
    judged = judge_document(document)
    for parser, seen in zip(STRICT, outcomes_of(STRICT, document), strict=True):
        if judged.rule:
            assert seen.kind == "reject", parser.name
        else:
            assert seen == Outcome("accept", encode_value(judged.value)), parser.name
