"""Tests that write modules of the same name do not meet each other's."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


@pytest.mark.parametrize("author", ["first", "second"])
def test_a_module_is_its_own_tests(
    author: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger.py").write_text(f"author = {author!r}")
    monkeypatch.syspath_prepend(tmp_path)
    assert import_module("stranger").author == author
