"""libFuzzer targets over native copies: what they cover, what they refuse, what they die of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.native.processes import ROOT, python
from wirefence.fuzz.coverage.explore import FuzzRequest, run_fuzz_target
from wirefence.fuzz.coverage.target_settings import TargetSettings, encode_settings
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.events import Found
from wirefence.fuzz.native.loaded import assert_ordered, order_copies

TARGET = str(ROOT / "fuzz" / "fuzz_parsers.py")
JSON = encode_settings(TargetSettings(targets=("json",)))
EDGES = re.compile(r"^#\d+\s+DONE\s+(?:cov: (\d+) )?", re.MULTILINE)  # none is left out
BROKEN = '''
"""A gateway whose parser reads one byte too many of each frame that has a brace."""
from wirefence.targets.planted import HEALTHY

class Gateway:
    def __init__(self, act, contract):
        self.inner = HEALTHY.factory(act, contract)
    def feed(self, data):
        if b"{" in data:
            import overrun  # only the fuzzing process can load it
            overrun.loads("read")
        return self.inner.feed(data)
    def eof(self):
        return self.inner.eof()
'''


def test_a_target_sees_more_edges_in_native_code(native, tmp_path):
    edges = {}
    for name, env in (("native", native("_json").env), ("installed", {})):
        corpus = tmp_path / name
        corpus.mkdir()
        done = python({**env, **JSON}, TARGET, "-runs=400", "-seed=1", str(corpus))
        found = EDGES.search(done.stderr)
        assert found, done.stderr[-500:]
        edges[name] = int(found[1] or 0)
    assert edges["native"] > edges["installed"] + 100
    assert edges["installed"] > 0  # behaviours, since json has no edges without its C code


def test_a_target_ends_at_once_where_its_preload_is_lost(native):
    env = {**native("_json").env, **JSON, "LD_PRELOAD": ""}
    done = python(env, TARGET, "-runs=10")
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert said.startswith("wirefence: _json is not running its instrumented copy")


def test_without_an_order_nothing_is_asserted(monkeypatch):
    monkeypatch.delenv("WIREFENCE_NATIVE", raising=False)
    assert_ordered()


@pytest.mark.parametrize("text", ["{", "[]", '{"names": 1, "address": 0}', '{"names": []}'])
def test_an_order_that_is_none_is_one_sentence(monkeypatch, text):
    monkeypatch.setenv("WIREFENCE_NATIVE", text)
    with pytest.raises(UsageError, match="holds no order"):
        assert_ordered()


def test_an_order_is_kept(monkeypatch):
    for name, value in order_copies(["_json"], address=False).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="_json is not running its instrumented copy"):
        assert_ordered()


def test_a_memory_fault_under_a_target_is_filed_with_its_frames(broken, monkeypatch, tmp_path):
    (tmp_path / "broken_gateway.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(str(tmp_path))
    events: list[Found] = []

    def listen(event: object) -> None:
        if isinstance(event, Found):
            events.append(event)
            raise KeyboardInterrupt  # as a user who has seen enough

    path = ":".join([broken.env["PYTHONPATH"], str(ROOT), str(tmp_path)])
    request = FuzzRequest(
        "fuzz_gateway",
        corpus=tmp_path / "corpus",
        out=tmp_path / "out",
        targets=("broken_gateway:Gateway",),
        seconds=150,  # a guard: the first frame is enough
        variables={**broken.env, "PYTHONPATH": path},
    )
    run_fuzz_target(request, listen)
    (found,) = events
    kind = "AddressSanitizer heap-buffer-overflow READ in past_the_end < loads"
    assert found.finding.signature.endswith(f"|live-crash|{kind}")
    frame = Path(found.path)
    assert b"{" in frame.read_bytes()
    assert json.loads(frame.with_suffix(".json").read_text())["rule"] == "live-crash"
