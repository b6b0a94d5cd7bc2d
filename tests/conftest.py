"""Shared fixtures. Other people's data is read where it lies and never copied to the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the MCP schemas and JSONTestSuite: ``$WIREFENCE_SHARED`` or ``../shared``."""
    folder = Path(os.environ.get("WIREFENCE_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set WIREFENCE_SHARED to its folder")
    return folder
