"""The executables keep libFuzzer's conventions, and none of its known traps catches them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirefence.fuzz.coverage.checks import NAMES
from wirefence.fuzz.coverage.corpus import merge_corpora
from wirefence.fuzz.coverage.entry import choose_packages
from wirefence.fuzz.coverage.process import Job, find_executable, find_seeds
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.fuzz.store.store import Store
from wirefence.targets.errors import TargetError

LEAVES = "hostile:leaves|live-crash|exit"


def test_each_target_is_an_executable_file_with_a_small_seed_corpus() -> None:
    for name in NAMES:
        assert find_executable(name).stat().st_mode & 0o111
        files = list(find_seeds(name).iterdir())
        assert 3 <= len(files) <= 16
        assert max(path.stat().st_size for path in files) <= 1_500


def test_a_healthy_target_runs_its_seeds_and_ends_with_0(target, hostile: Path) -> None:
    (hostile / "corpus").mkdir()  # libFuzzer adds to the first folder that it is given
    ran = target("fuzz_gateway", "-runs=60", "corpus", str(find_seeds("fuzz_gateway")))
    assert ran.code == 0, ran.log[-2_000:]
    assert "DONE" in ran.log
    assert "wirefence.targets.gateway.session" in ran.log  # what is under test is instrumented


TARGETS = "wirefence.targets"


def test_a_library_that_no_target_is_stays_uninstrumented() -> None:
    every = choose_packages("fuzz_parsers", ())
    assert (
        set(every) == {TARGETS, "simplejson", "json"} == set(choose_packages(NAMES[0], ["parsers"]))
    )
    assert set(choose_packages("fuzz_parsers", ["orjson", "json[strict]"])) == {TARGETS, "json"}
    assert choose_packages("fuzz_parsers", ["orjson", "msgspec"]) == (TARGETS,)
    assert choose_packages("fuzz_judge", ["planted:healthy"]) == (TARGETS, "wirefence.oracles")


def test_without_a_store_the_first_finding_is_a_crash_with_its_signature(
    target, hostile: Path
) -> None:
    orders = TargetSettings(targets=("planted:acts-twice",))
    ran = target("fuzz_gateway", "-runs=3000", "-seed=1", orders=orders)
    assert ran.code == 77
    assert "planted:acts-twice|act-twice|none]" in ran.log
    (artifact,) = hostile.glob("crash-*")
    again = target("fuzz_gateway", str(artifact), orders=orders)
    assert again.code == 77
    known = TargetSettings(targets=orders.targets, known=("planted:acts-twice|act-twice|none",))
    assert target("fuzz_gateway", str(artifact), orders=known).code == 0


@pytest.mark.parametrize(
    ("name", "fault"), [("fuzz_parsers", "takes-nan"), ("fuzz_session", "keeps-half-request")]
)
def test_a_target_finds_a_planted_fault_from_an_empty_corpus(
    target, hostile: Path, name: str, fault: str
) -> None:
    orders = TargetSettings(out=str(hostile / "out"), targets=(f"planted:{fault}",))
    ran = target(name, "-runs=2000", "-seed=1", orders=orders)
    assert ran.code == 0, ran.log[-2_000:]
    signatures = Store(hostile / "out").read_signatures()
    assert signatures
    assert all(f"planted:{fault}|" in each for each in signatures)
    healthy = TargetSettings(targets=("planted:healthy",))
    findings = [str(path) for path in (hostile / "out").glob("*/*.frame")]
    assert target(name, *findings, orders=healthy).code == 0


def test_with_a_store_each_signature_is_saved_once_and_fuzzing_goes_on(
    target, hostile: Path
) -> None:
    orders = TargetSettings(out=str(hostile / "out"), targets=("hostile:leaves",))
    ran = target("fuzz_gateway", "-runs=300", "-seed=1", orders=orders)
    assert ran.code == 0, ran.log[-2_000:]
    assert not list(hostile.glob("crash-*"))
    assert Store(hostile / "out").read_signatures() == {LEAVES}
    assert len(list((hostile / "out").glob("*/*.frame"))) == 1


def test_an_interrupt_in_a_target_stops_cleanly(target, hostile: Path) -> None:
    orders = TargetSettings(targets=("hostile:interrupts",))
    ran = target("fuzz_gateway", "-runs=2000", "-seed=1", orders=orders)
    assert ran.code == 130
    assert not list(hostile.glob("crash-*"))


def test_orders_that_cannot_be_followed_are_one_sentence(target) -> None:
    ran = target("fuzz_gateway", "-runs=1", orders=TargetSettings(targets=("planted:nonsense",)))
    assert ran.code == 2
    assert ran.log.strip().splitlines()[-1].startswith("wirefence: there is no planted fault")
    assert "Traceback" not in ran.log


def test_a_merge_takes_what_covers_something_and_is_measured(hostile: Path) -> None:
    source, corpus = hostile / "source", hostile / "corpus"
    source.mkdir()
    for number, path in enumerate(sorted(find_seeds("fuzz_gateway").iterdir())):
        (source / str(number)).write_bytes(path.read_bytes())
        (source / f"{number}-again").write_bytes(path.read_bytes())
    job = Job("fuzz_gateway", TargetSettings(targets=("planted:healthy",)), corpus)
    merged = merge_corpora(job, (source,))
    assert 1 <= merged.after <= len(list(source.iterdir())) // 2
    assert merged.edges_out >= merged.edges_in > 20
    assert not merged.kept


def test_a_merge_that_did_nothing_is_noticed(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = hostile / "source"
    source.mkdir()
    (source / "one").write_bytes(b"[1]\n")
    edges = iter((50, 10, 50))
    monkeypatch.setattr(
        "wirefence.fuzz.coverage.corpus.count_covered_edges", lambda *_: next(edges)
    )
    monkeypatch.setattr("wirefence.fuzz.coverage.corpus._run_target", lambda *_: "")
    merged = merge_corpora(Job("fuzz_gateway", TargetSettings(), hostile / "corpus"), (source,))
    assert (merged.kept, merged.after, merged.edges_out) == (True, 1, 50)
    assert "a selection covered less" in merged.describe()


def test_a_merge_of_a_target_that_does_not_run_is_told(hostile: Path) -> None:
    job = Job("fuzz_gateway", TargetSettings(targets=("planted:nonsense",)), hostile / "corpus")
    with pytest.raises(TargetError, match="no planted fault"):
        merge_corpora(job, (hostile,))
