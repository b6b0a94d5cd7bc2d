"""Shared fixtures. Other people's data is read where it lies and never copied to the repository."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A shell ignores them for what it runs in the background, and the processes of tests inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the MCP schemas and JSONTestSuite: ``$WIREFENCE_SHARED`` or ``../shared``."""
    folder = Path(os.environ.get("WIREFENCE_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set WIREFENCE_SHARED to its folder")
    return folder
