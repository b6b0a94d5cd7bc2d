"""Differences of two sides, servers by their command, and clients: replayed as what they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.crashes.conftest import CALL, HANDSHAKE, ROOT, Wirefence
from wirefence.fuzz.crashes.add import AddOptions, add_reproducer
from wirefence.fuzz.crashes.compared_sides import find_differences
from wirefence.fuzz.crashes.minimize import MinimizeLimits, minimize_reproducer
from wirefence.fuzz.crashes.replay import ERROR, FIXED, STILL, replay_reproducers
from wirefence.fuzz.crashes.rerun import Subject, find_faults
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes, read_case
from wirefence.oracles.faults import group_findings
from wirefence.oracles.records import make_finding
from wirefence.targets.command.records import Launch
from wirefence.targets.environments import Side, prepare_side
from wirefence.targets.errors import TargetError

SIDES = ("json", "orjson")
SERVER = ROOT / "tests" / "gate" / "servers" / "server.py"
OPTIONS = {"tool": "record", "args": '{"action":"{nonce}"}', "policy": "continue", "patience": "60"}
QUICK = MinimizeLimits(limit=12)


def quiet(_runs: int, _size: int) -> None:
    """Nobody watches."""


class TestADifferenceOfTwoSides:
    def test_is_found_with_its_effect_and_what_the_document_holds(self):
        (found,) = find_differences(b"[NaN]", SIDES)
        assert (found.oracle, found.rule) == ("compare", "newly-rejected")
        effect = "newly-rejected:accept -> orjson.JSONDecodeError"
        assert found.signature == f"json to orjson|{effect}|nan"
        assert (found.effect, found.deviation) == (effect, "nan")

    def test_is_named_by_its_first_trait_whatever_else_the_document_holds(self):
        one, other = (find_differences(raw, SIDES) for raw in (b"[NaN]", b"[NaN,1.5,[],{}]"))
        assert [each.signature for each in one] == [each.signature for each in other]

    @pytest.mark.parametrize("raw", [b"[1]", b'{"a":"b"}'], ids=repr)
    def test_is_none_where_both_read_alike(self, raw):
        assert find_differences(raw, SIDES) == []

    def test_has_two_sides_that_exist_and_a_form_that_both_have(self):
        with pytest.raises(UsageError, match="two sides"):
            find_differences(b"1", ("json",))
        with pytest.raises(TargetError):
            find_differences(b"1", ("json", "python:9.9"))
        with pytest.raises(UsageError, match="no form 'x'"):
            find_differences(b"1", SIDES, {"form": "x"})

    def test_is_filed_small_and_replays(self, here: Path, wirefence: Wirefence):
        (here / "frame.bin").write_bytes(b'{"a": [1, {"b": "c"}, NaN], "d": true}')
        ran = wirefence("crashes", "add", "frame.bin", "--sides", *SIDES, "--status", "upstream")
        assert ran.code == 0
        (entry,) = scan_folder(Path("crashes")).entries
        assert entry.case.data == b"NaN"
        assert entry.metadata.sides == SIDES
        assert set(entry.metadata.versions) == {"old", "new"}
        assert wirefence("replay").code == 0
        assert wirefence("crashes", "add", "frame.bin", "--sides", *SIDES).code == 1

    def test_that_compare_keeps_replays(self, here: Path, wirefence: Wirefence):
        given = ("--input", "4e614e", "--input", "5b315d", "--out", "kept")
        assert wirefence("compare", *SIDES, *given).code == 1
        (entry,) = scan_folder(Path("kept")).entries
        assert (entry.case.data, entry.metadata.sides) == (b"NaN", SIDES)
        assert [each.verdict for each in replay_reproducers([entry])] == [STILL]

    def test_that_compare_keeps_is_of_the_environments_it_was_given(
        self, here: Path, wirefence: Wirefence, monkeypatch
    ):
        caches: list[object] = []

        def prepared(spec: str, *, python: str | None = None, cache: Path | None = None) -> Side:
            caches.append(cache)
            return prepare_side(spec, python=python)

        for module in ("wirefence.fuzz.commands.compare", "wirefence.fuzz.crashes.compared_sides"):
            monkeypatch.setattr(f"{module}.prepare_side", prepared)
        given = ("--input", "4e614e", "--out", "kept", "--cache", "elsewhere")
        assert wirefence("compare", *SIDES, *given).code == 1
        assert caches == [Path("elsewhere")] * 4

    def test_that_is_gone_is_said_to_be_fixed(self, here: Path):
        (found,) = find_differences(b"NaN", SIDES)
        case = case_from_bytes(b"1")
        metadata = make_metadata(found, case, versions={}, sides=SIDES)
        entry = Entry(Store(here / "c").write_reproducer(metadata, case.data), metadata, case)
        assert [each.verdict for each in replay_reproducers([entry])] == [FIXED]


class TestAServerByItsCommand:
    @pytest.fixture
    def acts(self, here: Path) -> Path:
        (here / "acts").mkdir()
        return here / "acts"

    def entry(self, here: Path, acts: Path, fault: str, poison: bytes) -> Entry:
        launch = Launch((sys.executable, str(SERVER), str(acts), fault))
        case = case_from_bytes(HANDSHAKE + CALL % (1, 1) + poison)
        subject = Subject("server", launch, options=OPTIONS)
        found = next(f for f in find_faults(case, subject) if f.oracle == "non-action")
        metadata = make_metadata(found, case, versions={"s": "1"}, launch=launch, options=OPTIONS)
        return Entry(Store(here / "c").write_reproducer(metadata, case.data), metadata, case)

    def test_is_minimized_replayed_and_committed_through_the_gate(
        self, here: Path, acts: Path, git, wirefence: Wirefence
    ):
        poison = (CALL % (2, 2)).replace(b'"params":{', b'"params":{"ttl":NaN,')
        entry = self.entry(here, acts, "TakesNan", poison)
        said = minimize_reproducer(entry, Store(here / "c"), QUICK, quiet)
        assert b"NaN" in said.entry.case.data
        assert said.entry.metadata.size < entry.metadata.size
        assert said.entry.metadata.signature == entry.metadata.signature
        assert [each.verdict for each in replay_reproducers([said.entry])] == [STILL]
        assert wirefence("crashes", "commit", "--from", "c").code == 0
        (kept,) = scan_folder(Path("crashes")).entries
        assert kept.metadata.command is not None
        assert kept.metadata.options == OPTIONS

    def test_is_filed_under_the_name_that_the_gate_gives_it(self, here: Path, acts: Path):
        launch = Launch((sys.executable, str(SERVER), str(acts), "PrintsTracebacks"))
        case = case_from_bytes(HANDSHAKE + b"{\n")
        wanted = AddOptions("", signature="out-not-json", smaller=False, versions={"s": "1"})
        (entry,) = add_reproducer(case, launch, wanted, Store(here / "c")).entries
        assert entry.metadata.target == "wirefence-reference"

    def test_that_cannot_be_started_is_an_error(self, here: Path, acts: Path):
        found = make_finding("non-action", "act-rejected", "s", "x", "s")
        case = case_from_bytes(HANDSHAKE)
        launch = Launch(("no-such-command",))
        metadata = make_metadata(found, case, versions={}, launch=launch, options=OPTIONS)
        entry = Entry(Store(here / "c").write_reproducer(metadata, case.data), metadata, case)
        (said,) = replay_reproducers([entry])
        assert (said.verdict, said.expected) == (ERROR, False)


class TestWhatAServerWrote:
    RAW = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'

    def filed(self, folder: Path) -> Path:
        case = case_from_bytes(self.RAW, direction="server-to-client")
        found = make_finding("client", "took-it", "c", "x", "s")
        return Store(folder).save_finding(found, case, versions={})

    def test_keeps_its_direction_on_disk(self, tmp_path: Path):
        path = self.filed(tmp_path)
        metadata, case = Store(tmp_path).read_finding(path)
        assert metadata.direction == case.direction == "server-to-client"
        assert read_case(path).direction == "server-to-client"
        assert json.loads(path.with_suffix(".json").read_bytes())["direction"] == case.direction

    def test_a_usual_direction_is_not_spelled_out(self, tmp_path: Path):
        found = make_finding("client", "took-it", "c", "x", "s")
        path = Store(tmp_path).save_finding(found, case_from_bytes(self.RAW), versions={})
        assert b"direction" not in path.with_suffix(".json").read_bytes()

    def test_an_unknown_direction_is_refused(self, tmp_path: Path):
        path = self.filed(tmp_path)
        beside = path.with_suffix(".json")
        beside.write_bytes(beside.read_bytes().replace(b"server-to-client", b"sideways"))
        with pytest.raises(UsageError, match="direction"):
            Store(tmp_path).read_finding(path)
        with pytest.raises(UsageError, match="direction"):
            read_case(path)

    def test_is_no_fault_of_gateways_and_its_signature_names_it(self, tmp_path: Path):
        path = self.filed(tmp_path)
        entry = Entry(path, *Store(tmp_path).read_finding(path))
        assert find_faults(entry.case, Subject("gateway/strict")) == []
        (fault,) = group_findings([entry.metadata.to_finding()])
        assert fault.name == entry.metadata.signature


def test_a_play_of_an_attack_is_left_as_it_was(tmp_path: Path, monkeypatch):
    found = make_finding("client", "took-it", "c", "x", "s")
    shows = "wirefence.fuzz.crashes.minimize.CaseRunners.run_cases"
    monkeypatch.setattr(shows, lambda _runners, cases: [[found]] * len(cases))
    case = case_from_bytes(b"x\n" * 9, direction="server-to-client")
    options = {"attack": "some", "at": "call"}
    path = Store(tmp_path).save_finding(
        found, case, versions={}, launch=Launch(("x",)), options=options
    )
    entry = Entry(path, *Store(tmp_path).read_finding(path))
    said = minimize_reproducer(entry, Store(tmp_path), MinimizeLimits(), quiet)
    assert (said.state, said.entry.case.data) == ("whole", b"x\n" * 9)


def test_a_server_without_findings_is_not_filed(here: Path):
    (here / "acts").mkdir()
    launch = Launch((sys.executable, str(SERVER), str(here / "acts")))
    wanted = AddOptions("server", smaller=False, versions={"s": "1"})
    with pytest.raises(UsageError, match="no such finding"):
        add_reproducer(case_from_bytes(HANDSHAKE), launch, wanted, Store(here / "c"))
