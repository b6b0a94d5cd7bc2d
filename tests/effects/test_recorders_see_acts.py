"""Each recorder sees a server that acts, and nothing of that kind in one that doesn't."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.effects.driving import NODE, NONCE, PYTHON, Seen, drive, needs_node
from wirefence.targets.command.records import Launch
from wirefence.targets.effects import available
from wirefence.targets.effects.available import NAMES, Recording, choose_recorders
from wirefence.targets.effects.files import FileRecorder
from wirefence.targets.effects.strace import Strace
from wirefence.targets.errors import TargetError

needs_strace = pytest.mark.skipif(
    bool(Strace().unavailable(Launch(("true",)))), reason=Strace().unavailable(Launch(("true",)))
)

ACTS = [
    ("files", PYTHON, "write", {"write"}),
    ("files", PYTHON, "fill", {"write"}),
    ("files", PYTHON, "rename", {"write"}),
    ("http", PYTHON, "http", {"http"}),
    ("http", PYTHON, "base_url", {"http"}),
    ("ssh", PYTHON, "ssh", {"exec"}),
    ("ssh", PYTHON, "ssh_stdin", {"exec"}),
    ("ssh", PYTHON, "ssh_inherits", {"exec"}),
    ("python", PYTHON, "connect", {"connect"}),
    ("python", PYTHON, "write", {"write"}),
    ("python", PYTHON, "rename", {"write", "rename"}),
    ("python", PYTHON, "delete", {"write", "delete"}),
    ("python", PYTHON, "run", {"exec"}),
]
NODE_ACTS = [
    ("files", NODE, "write", {"write"}),
    ("http", NODE, "http", {"http"}),
    ("node", NODE, "connect", {"connect"}),
    ("node", NODE, "write", {"write"}),
    ("node", NODE, "fill", {"write"}),
    ("node", NODE, "stream", {"write"}),
    ("node", NODE, "rename", {"write", "rename"}),
    ("node", NODE, "delete", {"write", "delete"}),
    ("node", NODE, "run", {"exec"}),
    ("node", NODE, "runsync", {"exec"}),
    ("node", NODE, "worker", {"write"}),
]
STRACE_ACTS = [
    ("strace", PYTHON, "connect", {"connect"}),
    ("strace", PYTHON, "write", {"write"}),
    ("strace", PYTHON, "rename", {"write", "rename"}),
    ("strace", PYTHON, "delete", {"write", "delete"}),
    ("strace", PYTHON, "run", {"exec"}),
]
CASES = [
    *ACTS,
    *(pytest.param(*act, marks=needs_node) for act in NODE_ACTS),
    *(pytest.param(*act, marks=needs_strace) for act in STRACE_ACTS),
    pytest.param("strace", NODE, "rename", {"write", "rename"}, marks=[needs_node, needs_strace]),
]


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Seen]:
    """What all recorders see of servers that do nothing; one run for each server."""
    seen = {}
    for argv in (PYTHON, NODE):
        try:
            seen[argv] = drive(argv, None, [f"idle {NONCE}"], tmp_path_factory.mktemp("idle"))
        except FileNotFoundError:
            continue
    return seen


@pytest.mark.parametrize(("name", "argv", "verb", "kinds"), CASES)
def test_an_act_is_seen_with_its_nonce(
    name: str, argv: tuple[str, ...], verb: str, kinds: set[str], tmp_path: Path
) -> None:
    seen = drive(argv, [name], [f"{verb} {NONCE}", "idle other"], tmp_path)
    assert seen.kinds(NONCE) == kinds
    assert {each.recorder for each in seen.of(NONCE)} == {name}
    assert seen.stdout == f"done {NONCE}\ndone other\n".encode()
    assert (seen.stderr, seen.code, seen.status) == (b"", 0, {name: "on"})


def test_nothing_is_seen_of_a_server_that_does_not_act(
    idle: dict[tuple[str, ...], Seen],
) -> None:
    assert PYTHON in idle
    for argv, seen in idle.items():
        assert seen.stdout == f"done {NONCE}\n".encode()
        assert (argv, seen.of(NONCE)) == (argv, [])
        recorders_that_act = {each.recorder for each in seen.effects}
        assert recorders_that_act <= {"strace"}, seen.effects  # strace sees its own launch


def test_a_hook_that_nothing_loaded_says_so(idle: dict[tuple[str, ...], Seen]) -> None:
    status = idle[PYTHON].status
    assert status["python"] == "on"
    assert status["node"] == "no Node process has loaded the hook"


@needs_node
def test_a_fetch_is_seen_by_its_address_and_at_the_service_with_its_body(tmp_path: Path) -> None:
    seen = drive(NODE, ["http", "node"], [f"fetch {NONCE}"], tmp_path)
    asked, served = (each for each in seen.effects if each.kind == "http")
    assert (asked.recorder, served.recorder) == ("node", "http")
    assert asked.detail.startswith(b"POST http://127.0.0.1:")
    assert (asked.carries(NONCE), served.carries(NONCE)) == (False, True)


def test_recorders_come_strongest_first_and_can_be_chosen(tmp_path: Path) -> None:
    launch = Launch(PYTHON, cwd=tmp_path)
    usable = choose_recorders(launch)
    names = [recorder.name for recorder in usable]
    assert names == [name for name in NAMES if name in names]
    assert {"files", "http", "ssh", "python", "node"} <= set(names)
    assert all(recorder.blind for recorder in usable)
    chosen = choose_recorders(launch, ["python", "files"])
    assert [recorder.name for recorder in chosen] == ["files", "python"]
    for recorder in (*usable, *chosen):
        recorder.close()
        recorder.close()


def test_an_unknown_recorder_is_named_with_the_known_ones() -> None:
    with pytest.raises(TargetError) as caught:
        choose_recorders(Launch(PYTHON), ["ptrace"])
    assert str(caught.value).startswith("there is no effect recorder 'ptrace'; choose from files, ")


def test_a_recorder_that_cannot_watch_says_why() -> None:
    launch = Launch(("python3", "-I", "server.py"))
    with Recording.of(launch, ["files", "python"]) as recording:
        assert recording.recorders == ()
        assert recording.status() == {
            "files": "no folder to watch was named",
            "python": "-I makes this Python ignore PYTHONPATH",
        }


class Fake:
    """A recorder that does nothing, but for what ``trick`` names: that fails."""

    def __init__(self, trick: str, closed: list[str]) -> None:
        self.trick, self.closed = trick, closed
        if trick == "open":
            raise OSError("no port")

    def unavailable(self, launch: Launch) -> str:
        return ""

    def wrap(self, launch: Launch) -> Launch:
        if self.trick == "wrap":
            raise OSError("no room")
        return launch

    def close(self) -> None:
        self.closed.append(self.trick)


@pytest.mark.parametrize(("trick", "left"), [("open", ["fine"]), ("wrap", ["wrap", "fine"])])
def test_recorders_beside_one_that_fails_are_closed(
    trick: str, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setitem(available._MAKERS, "files", lambda *_: Fake("fine", closed))
    monkeypatch.setitem(available._MAKERS, "http", lambda *_: Fake(trick, closed))
    with pytest.raises(OSError, match="no "):
        Recording.of(Launch(PYTHON), ["files", "http"])
    assert closed == left


def test_what_was_taken_is_not_given_again(tmp_path: Path) -> None:
    (tmp_path / "journal.log").write_text("before\n")
    with Recording.of(Launch(PYTHON, cwd=tmp_path), ["files"]) as recording:
        (tmp_path / "journal.log").write_text("before\nafter\n")
        assert [(each.kind, each.content) for each in recording.take()] == [("write", b"after\n")]
        assert recording.take() == []
        (tmp_path / "journal.log").unlink()
        assert [each.kind for each in recording.take()] == ["delete"]


def test_what_is_written_between_measuring_and_reading_is_given_once(tmp_path: Path, monkeypatch):
    """A server writes whenever it likes: here, just when a file is opened to be read."""
    acts = tmp_path / "acts"
    acts.write_bytes(b"")
    recorder, opened = FileRecorder([tmp_path]), os.open

    def writing(path: bytes, flags: int) -> int:
        with acts.open("ab") as file:
            file.write(b"late\n")
        return opened(path, flags)

    recorder.wrap(Launch(("true",)))
    acts.write_bytes(b"early\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", writing)
        first = recorder.take()
    seen = [each.content for each in [*first, *recorder.take()]]
    assert seen == [b"early\n", b"late\n"]
