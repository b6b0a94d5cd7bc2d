"""Shared fixtures, and how the tests are shared between processes.

Other people's data is read where it lies and never copied to the repository.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LONG = (
    "servers/test_servers_of_others.py",
    "gate/test_gate_whole.py",
    "gate/test_wrong_answers.py",
    "compare/test_real_version_pairs.py",
    "coverage/test_libfuzzer_targets.py",
    "fuzz/test_planted_faults_are_found.py",
    "quality/test_operator_deviations.py",
    "strategies/test_damaged_frames.py",
    "fuzz/test_cli_processes.py",
    "environments/test_environment_cache.py",
    "coverage/test_fuzz_command.py",
    "package/test_base_layer.py",
    "package/test_projects_with_our_names.py",
    "package/test_stored_files.py",
    "fuzz/test_campaign.py",
    "crashes/test_nightly.py",
    "crashes/test_commit.py",
    "fuzz/test_cli.py",
    "crashes/test_reproducers.py",
    "gate/test_planted_servers.py",
    "environments/test_worker_endings.py",
    "crashes/test_minimal_forms.py",
    "gate/test_gate_versions.py",
    "strategies/test_damage_quality.py",
    "quality/test_mutants.py",
    "oracles/test_protocol_shapes.py",
)
"""Files that take longest, longest first: a process that gets one last is alone at the end."""

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


@pytest.fixture(autouse=True)
def modules_of_one_test(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A module that a test wrote and imported is not the next test's of the same name."""
    before = set(sys.modules)
    yield
    written = str(tmp_path_factory.getbasetemp())
    for name in sys.modules.keys() - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(written):
            del sys.modules[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; each file is run whole by one process (``--dist loadfile``)."""
    rank = {ROOT / "tests" / name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Three processes for two processors: half of what tests do is wait for processes of theirs."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = len(os.sched_getaffinity(0))
    return processors + (min(processors, 4) + 1) // 2
