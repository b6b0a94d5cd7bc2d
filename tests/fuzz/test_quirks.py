"""The stored quirks are those of the installed parsers, and a missing one would be noticed."""

from __future__ import annotations

import pytest

from wirefence.fuzz.examination.quirk_probe import probe_quirks
from wirefence.oracles import quirks
from wirefence.oracles.quirks import Quirks
from wirefence.targets.parsers.configs import CONFIGS, library_versions


@pytest.fixture(scope="module")
def stored() -> Quirks:
    if not quirks.QUIRKS_FILE.exists():
        pytest.skip("no quirks were probed under this interpreter")
    found = quirks.load_quirks()
    here = library_versions()
    other = {name for name in here if found.versions.get(name) != here[name]} - {"python"}
    if other:
        pytest.skip(f"quirks were probed with other versions of {sorted(other)}")
    return found


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_each_interpreter_has_quirks_of_its_own(minor: int) -> None:
    path = quirks.quirks_file((3, minor))
    assert quirks.nearest_file((3, minor)) == path
    assert quirks.load_quirks(path).versions["python"].startswith(f"3.{minor}.")


def test_an_interpreter_without_quirks_takes_the_nearest() -> None:
    assert quirks.nearest_file((3, 8)) == quirks.quirks_file((3, 11))
    assert quirks.nearest_file((3, 99)) == max(quirks.quirks_file().parent.glob("quirks-3.*.json"))


def test_stored_quirks_are_what_the_probes_show(stored: Quirks) -> None:
    """All of them: what is generated changes with the grammar and with every damage operator."""
    assert quirks.list_differences(stored, probe_quirks()) == []


def test_a_strict_parser_has_no_quirks(stored: Quirks) -> None:
    assert not {config.name for config in CONFIGS if config.strict} & stored.known.keys()


def test_a_lost_quirk_and_a_new_one_are_told() -> None:
    before = Quirks({}, {"p": frozenset({"accepts: nan"})})
    after = Quirks({}, {"p": frozenset({"accepts: bom"})})
    assert quirks.list_differences(before, after) == [
        "p: no longer accepts: nan",
        "p: new accepts: bom",
    ]
    assert quirks.list_differences(before, before) == []
