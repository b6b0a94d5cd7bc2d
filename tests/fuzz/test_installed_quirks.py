"""Stored quirks serve the stored versions; for others they are probed once, and are no news."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wirefence.fuzz.commands import campaign
from wirefence.fuzz.examination import installed_quirks as module
from wirefence.fuzz.examination.installed_quirks import (
    changed_parsers,
    installed_quirks,
    stored_quirks,
)
from wirefence.oracles import quirks
from wirefence.oracles.quirks import Quirks

PROBED = Quirks({"orjson": "0.0.1"}, {"orjson": frozenset({"accepts: nan"})})


@pytest.fixture
def probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each probe that runs, and a cache of this test's own."""
    ran: list[str] = []

    def probe() -> Quirks:
        ran.append("probe")
        return PROBED

    monkeypatch.setattr(module, "probe_quirks", probe)
    monkeypatch.setenv("WIREFENCE_CACHE", str(tmp_path / "cache"))
    return ran


@pytest.fixture
def other_release(probes: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An orjson is installed whose quirks nobody has stored."""
    monkeypatch.setattr(module, "library_versions", lambda: {"orjson": "0.0.1"})
    return probes


def test_the_stored_versions_are_not_probed(
    probes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = dict(stored_quirks().versions)
    monkeypatch.setattr(module, "library_versions", lambda: versions)
    assert installed_quirks() == stored_quirks()
    assert probes == []


def test_another_release_is_probed_once(
    other_release: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert installed_quirks() == PROBED
    first = capsys.readouterr()
    assert installed_quirks() == PROBED
    assert other_release == ["probe"]
    assert "orjson 0.0.1" in first.err
    assert (first.out, capsys.readouterr().err) == ("", "")


def test_code_that_changes_a_probe_has_a_cache_of_its_own(
    other_release: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_quirks()
    monkeypatch.setattr(module, "_SOURCES", ("oracles",))
    installed_quirks()
    assert other_release == ["probe", "probe"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"versions":{},"quirks":5}'])
def test_a_damaged_cache_is_probed_again(
    other_release: list[str], tmp_path: Path, content: str
) -> None:
    installed_quirks()
    (cached,) = (tmp_path / "cache" / "quirks").iterdir()
    cached.write_text(content)
    assert installed_quirks() == PROBED
    assert quirks.load_quirks(cached) == PROBED


def test_without_any_folder_for_a_cache_a_probe_serves_all_the_same(
    other_release: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for name in ("WIREFENCE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path / "file"))
    assert installed_quirks() == PROBED


def test_a_home_that_cannot_be_written_falls_back_to_temporary_files(
    other_release: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for name in ("WIREFENCE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    installed_quirks()
    installed_quirks()
    assert other_release == ["probe"]
    assert list(tmp_path.glob(f"wirefence-quirks-{os.getuid()}/*.json"))


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_no_cache(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "quirks"
    folder.mkdir()
    assert module._is_private_folder(folder)
    folder.chmod(mode)
    assert not module._is_private_folder(folder)


def test_a_link_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "quirks").symlink_to(tmp_path / "there")
    assert not module._is_private_folder(tmp_path / "quirks")


def test_changed_parsers_are_named_by_their_library() -> None:
    before = Quirks({}, {"orjson": frozenset({"a: nan"}), "ujson[bytes]": frozenset({"b: nan"})})
    after = Quirks({}, {"orjson": frozenset({"a: nan"}), "jiter": frozenset({"c: nan"})})
    assert changed_parsers(before, after) == ["jiter", "ujson"]
    assert changed_parsers(before, before) == []


def test_a_campaign_names_changed_parsers_in_one_line(
    other_release: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    installed_quirks()
    capsys.readouterr()
    campaign._report_changed_parsers()
    (line,) = capsys.readouterr().err.splitlines()
    assert "these parsers differ from the stored quirks: " in line
    assert "orjson" in line
    assert line.endswith("see wirefence quirks")


def test_a_campaign_is_silent_about_stored_versions(
    probes: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = dict(stored_quirks().versions)
    monkeypatch.setattr(module, "library_versions", lambda: versions)
    campaign._report_changed_parsers()
    assert capsys.readouterr().err == ""
