"""What an operator promises is what the judge of JSON documents says, under both profiles.

Only the families whose damage lies in the text are asked here: framing, encoding and syntax.
"""

from __future__ import annotations

import pytest

from oracles.document import judge_document
from strategies.damage import BY_NAME, OPERATORS, Operator, Scene
from strategies.records import Frame
from strategies.source import RandomSource

CALL = Frame(
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":1},'
    b'"name":"record","arguments":{"action":"a1","count":3,"ratio":1.5,"note":"\xc3\xa9"}}}\n',
    "a1",
)
BARE = Frame(b' {"method": "tools/list", "jsonrpc": "2.0", "params": {}, "id": "b:}"} \t\n')
SESSION = (CALL, BARE, CALL)
TEXTUAL = {"truncation", "concatenation", "encoding", "number-spelling", "white-space", "resource"}
# Other damage that is text, but in families that otherwise need the whole judge.
ALSO = {"banner-structlog-own-line"}
SAID = [each for each in OPERATORS if each.family in TEXTUAL and not each.heavy]
BANNERS = [each for each in OPERATORS if each.family == "banner" and each.name not in ALSO]
FENCED = [
    BY_NAME[f"nested-{name}"]
    for name in ("plain", "line-separator", "next-line", "vertical-tab", "form-feed")
]
CHECKED = [each for each in (*SAID, *BANNERS, *FENCED) if each.expect != "profile"]


def accepted(data: bytes, profile: str) -> bool:
    """Whether each line of a stdin is one JSON text and ends in LF."""
    *lines, tail = data.split(b"\n")
    return not tail and all(judge_document(line, profile=profile).accepted for line in lines)


def verdicts(operator: Operator, profile: str) -> set[bool]:
    """The judge's words on what the operator makes of the session, over places and seeds."""
    seen = set()
    for seed in range(12):
        for at in range(len(SESSION)):
            damaged = operator.apply(RandomSource(seed), Scene(SESSION, at))
            if damaged is not None:
                seen.add(accepted(b"".join(frame.raw for frame in damaged.frames), profile))
    return seen


@pytest.mark.parametrize("profile", ["strict", "spec"])
def test_the_good_session_is_accepted(profile: str) -> None:
    assert accepted(b"".join(frame.raw for frame in SESSION), profile)


@pytest.mark.parametrize("profile", ["strict", "spec"])
@pytest.mark.parametrize("operator", CHECKED, ids=lambda operator: operator.name)
def test_the_judge_says_what_the_operator_expects(operator: Operator, profile: str) -> None:
    assert verdicts(operator, profile) == {operator.expect == "accept"}
