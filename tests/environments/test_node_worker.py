"""JSON.parse is a side like any other: same values, same kinds, numbers of one type."""

from __future__ import annotations

import math
import shutil

import pytest

from wirefence.targets.environments import Context, prepare_side
from wirefence.targets.environments.protocol import digest_of
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.canonical import encode_value

SAME = [
    b"null", b"[true,false]", b"0", b"-1", b"2147483648", b"-32768000000", b"1e20", b"1.5", b"-0.0",
    b"1e400", b'"\xc3\xa9\xf0\x9f\x98\x80"', b'"\\ud800"', b'"\\udc00\\ud800x"', b'"\xed\xa0\x80"',
    b'{"b":{"__proto__":1},"a":[[],{}]}', b'{"a":1,"a":2}', b'"\\u0000"', b"[" * 900 + b"]" * 900,
]  # fmt: skip
REFUSED = [b"", b"[1,]", b"\xff", b'"\xed\xa0"', b"1 2", b"'a'"]


@pytest.fixture(scope="module")
def node():
    if shutil.which("node") is None:
        pytest.skip("no node on PATH")
    return prepare_side("node")


def test_node_and_json_agree_where_they_should(node):
    with node.worker() as there, prepare_side("json").worker() as here:
        raws = SAME + REFUSED
        assert there.digests(raws, named=False) == here.digests(raws, named=False, project=True)
        values = [one.value for one in there.outcomes(SAME)]
        assert values == [one.value for one in here.outcomes(SAME, project=True)]


def test_node_shows_what_sets_it_apart(node):
    raws = [b"9007199254740993", b"-0", b'{"2":0,"1":0}', b"NaN", b"1" * 5_000]
    with node.worker() as worker:
        seen = worker.outcomes(raws)
    assert [one.value for one in seen] == [
        encode_value(2**53),
        encode_value(-0.0),
        encode_value({"1": 0, "2": 0}),
        b"",
        encode_value(math.inf),
    ]
    assert (seen[3].kind, seen[3].error, seen[3].bases) == ("reject", "SyntaxError", ("Error",))


def test_node_tells_digests_of_its_outcomes(node):
    with node.worker() as worker:
        for named in (True, False):
            told = [digest_of(one, named=named) for one in worker.outcomes(SAME + REFUSED)]
            assert worker.digests(SAME + REFUSED, named=named) == told


def test_node_reads_what_is_deeper_than_its_own_calls_go(node):
    raw = b"[" * 200_000 + b"]" * 200_000
    with node.worker() as worker:
        value = worker.outcomes([raw])[0].value
    assert value == b"[\x01\x00\x00\x00" * 199_999 + b"[\x00\x00\x00\x00"


def test_node_writes_values(node):
    values = [math.nan, "\ud800", 10**30, {"__proto__": 1, "a": [-0.0, None, 2**40]}]
    with node.worker() as worker:
        texts = [one.value for one in worker.serialize([encode_value(value) for value in values])]
    assert texts == [b"null", b'"\\ud800"', b"1e+30", b'{"__proto__":1,"a":[0,null,1099511627776]}']


def test_a_batch_longer_than_a_pipe_comes_through(node):
    raws = [b'"%s"' % (b"x" * 3_000)] * 200
    with node.worker(Context(deadline=30.0)) as worker:
        assert {one.kind for one in worker.outcomes(raws)} == {"accept"}


def test_without_node_the_side_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match="there is no node on PATH"):
        prepare_side("node")
