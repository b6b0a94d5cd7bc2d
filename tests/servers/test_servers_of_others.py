"""Servers that nobody here wrote, installed and asked the classic inputs.

These pin what was found, not what is wished for: where a server mends a fault, the test of it says
what is no longer shown, and docs/findings.md is to be made anew.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.environments.absence import skip_where_absent
from tests.servers.catalogue import BY_NAME, ROOT, SERVERS, Server
from tests.servers.prepare import prepare
from tests.servers.probing import WARM, Probed, probe
from wirefence.fuzz.gate.server.verdicts import ACTING
from wirefence.fuzz.gate.trials.messages import INITIALIZED, make_initialize
from wirefence.targets.errors import TargetError

Ask = Callable[[str], Probed]

PYTHON = {
    "nested-cr": "none",
    "encoding-byte-ff": "utf8-invalid",
    "danger-nan": "json-syntax",
    "danger-hybrid": "rpc-kind",
    "duplicate-method-before": "json-duplicate-name",
}
NODE = {
    "encoding-byte-ff": "utf8-invalid",
    "danger-id-fraction": "rpc-id",
    "duplicate-method-before": "json-duplicate-name",
}
COLD: Mapping[str, Mapping[str, str]] = {
    "mcp-1": {"truncate-newline-eof": "frame-unterminated"},
    "mcp-2": {"truncate-newline-eof": "frame-unterminated", "call-before-initialize": ""},
    "typescript-sdk": {
        "call-before-initialize": "life-not-initialized",
        "truncate-newline-eof": "",
    },
}
"""Of these servers, also what needs processes of its own: the rule, or ``""`` for nothing."""


def expected(server: Server) -> dict[str, str]:
    """The rule that each trial which acts breaks."""
    warm = NODE if server.place == "node" else PYTHON
    cold = COLD.get(server.name, {})
    return {**warm, **{trial: rule for trial, rule in cold.items() if rule}}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Probe a server, once for all tests."""

    @cache
    def probed(name: str) -> Probed:
        server, folder = BY_NAME[name], tmp_path_factory.mktemp(name)
        try:
            prepare(server.place)
        except TargetError as error:
            return skip_where_absent(error)
        server.make(folder)
        recorder = ("files",) if server.watch else ("http",)
        options = server.options(
            folder, effects=recorder, policy="continue", patience=60.0, start_patience=120.0
        )
        return probe(server.launch(folder), options, tuple(COLD.get(name, ())))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # starts would be twice as slow
        yield probed


def rules_of(probed: Probed, trial: str) -> set[str]:
    """The rules broken by frames that were processed all the same."""
    parts = (signature.split("|") for signature in probed.shown[trial])
    return {part[1].partition(":")[0] for part in parts if part[0].partition(":")[0] in ACTING}


EVERY = pytest.mark.parametrize("name", list(BY_NAME))


@pytest.mark.parametrize(
    ("name", "trial"), [(s.name, trial) for s in SERVERS for trial in expected(s)]
)
def test_what_a_server_acts_on_is_shown_with_its_rule(ask: Ask, name: str, trial: str):
    assert rules_of(ask(name), trial) == {expected(BY_NAME[name])[trial]}


@EVERY
def test_nothing_else_is_held_against_a_server(ask: Ask, name: str):
    assert ask(name).acted == set(expected(BY_NAME[name]))


@EVERY
def test_a_server_is_usable_after_each_bad_frame(ask: Ask, name: str):
    """But for the ping that a bare CR cuts in pieces: it is never answered."""
    cut = {"nested-cr"} if "nested-cr" in expected(BY_NAME[name]) else set()
    assert ask(name).unusable == cut


@EVERY
def test_every_trial_was_made_and_seen(ask: Ask, name: str):
    assert set(ask(name).seen) == {*WARM, *COLD.get(name, {})}


@pytest.mark.parametrize("name", ["mcp-1", "mcp-2"])
def test_a_last_frame_without_lf_is_executed(ask: Ask, name: str):
    seen = ask(name).seen["truncate-newline-eof"]
    assert any(effect.recorder == "files" for effect in seen.effects)


def test_what_python_2_executes_at_the_end_is_not_always_answered(ask: Ask, tmp_path: Path):
    """Its answer and its end race each other: the effect may be all that is seen of the call."""
    ask("mcp-2")
    argv = BY_NAME["mcp-2"].launch(tmp_path).argv
    opening = make_initialize(b'"2025-11-25"', b"0").raw
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record",'
    rest = INITIALIZED.raw + call + b'"arguments":{"action":"last"}}}'

    def is_answered() -> bool:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(argv, **pipes) as server:
            server.stdin.write(opening)
            server.stdin.flush()
            server.stdout.readline()
            return b'"id":1' in server.communicate(rest)[0]

    # About a third of the answers come in time, with each Python: not twenty in a row.
    assert not all(is_answered() for _ in range(20))
    assert "last\n" in (tmp_path / "acts").read_text()


def test_invalid_utf8_is_replaced(ask: Ask):
    for name in ("mcp-1", "mcp-2", "typescript-sdk"):
        out = b"".join(ask(name).seen["encoding-byte-ff"].lines)
        assert "\N{REPLACEMENT CHARACTER}".encode() in out


@pytest.mark.parametrize("name", ["mcp-server-time", "mcp-server-git", "mcp-server-fetch"])
def test_the_server_that_is_asked_is_the_pinned_one(ask: Ask, name: str):
    assert ask(name).facts.release == BY_NAME[name].version
