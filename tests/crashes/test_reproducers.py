"""Every committed reproducer shows what its status says, on this interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.crashes.conftest import ROOT
from tests.environments.absence import skip_where_absent
from tests.servers.catalogue import BY_NAME
from tests.servers.prepare import prepare
from wirefence.fuzz.crashes.render import as_index, escape_bytes
from wirefence.fuzz.crashes.replay import ReplayResult, replay_reproducer
from wirefence.fuzz.crashes.rerun import CaseRunners, make_subject
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.targets.errors import TargetError

FOLDER = ROOT / "crashes"
SHELF = scan_folder(FOLDER)
INSTALLED = ("parser:", "parsers", "gateway", "planted:", "mcp-python-sdk")


@pytest.fixture(scope="module")
def replayed() -> Iterator[Callable[[Entry], ReplayResult]]:
    """Replay an entry in a process that is kept for its subject."""
    kept: dict[str, CaseRunners] = {}

    def of(entry: Entry) -> CaseRunners:
        subject = make_subject(entry.metadata)
        return kept.setdefault(repr(subject), CaseRunners(subject, patience=300))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)  # commands of reproducers name files from the root of the project
        yield lambda entry: replay_reproducer(entry, of(entry))
    for each in kept.values():
        each.close()


def have(target: str) -> None:
    """Install a server of others, or skip where this machine can't."""
    if target in BY_NAME:
        try:
            prepare(BY_NAME[target].place)
        except TargetError as error:
            skip_where_absent(error)


@pytest.mark.parametrize("entry", SHELF.entries, ids=lambda entry: entry.path.stem)
def test_a_reproducer_is_as_its_status_says(
    entry: Entry, replayed: Callable[[Entry], ReplayResult]
):
    if not entry.metadata.target.startswith((*INSTALLED, *BY_NAME)):
        pytest.skip(f"needs {entry.metadata.target}, which is not installed with this project")
    if entry.metadata.target == "mcp-python-sdk":
        pytest.importorskip("mcp.server.mcpserver", reason="needs mcp 2 or later")
    have(entry.metadata.target)
    said = replayed(entry)
    shown = "\n".join(found.signature for found in said.seen)
    assert said.expected, f"{said.verdict}: {said.detail}\n{escape_bytes(entry.case.data)}\n{shown}"


def test_nothing_in_the_directory_is_unusable():
    assert SHELF.problems == ()


def test_there_are_reproducers_of_divergences():
    assert sum(entry.metadata.status == "upstream" for entry in SHELF.entries) >= 20


def test_the_index_is_of_what_is_there():
    assert (FOLDER / "INDEX.md").read_text(encoding="utf-8") == as_index(SHELF.entries)
