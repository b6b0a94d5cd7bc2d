"""Client mode finds each planted fault, and nothing in a strict client."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.client.attacks import GOOD
from wirefence.fuzz.gate.client.judge import judge_client
from wirefence.fuzz.gate.client.records import ClientPlace, PlayedAttack
from wirefence.fuzz.gate.client.run import gate_client, select_attacks
from wirefence.fuzz.gate.client.session import ClientTerms, play_attack
from wirefence.fuzz.gate.records import Options, Progress, Report
from wirefence.fuzz.gate.replay import examine_command
from wirefence.fuzz.store.store import Store
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

CLIENT = Path(__file__).with_name("example_client.py")
TERMS = ClientTerms(start_patience=30.0, patience=10.0, quiet=0.15)
SHORT = ClientTerms(start_patience=60.0, patience=1.0, quiet=0.15)
"""For clients that do not end: what has to start has all the time that it needs."""


def launch(faults: str = "none") -> Launch:
    return Launch((sys.executable, str(CLIENT), faults))


def one(
    faults: str, attack: str, place: ClientPlace = "call", terms: ClientTerms = TERMS
) -> PlayedAttack:
    return play_attack(launch(faults), select_attacks([attack])[0], place, terms)


def rules(played: PlayedAttack) -> list[str]:
    return [finding.signature for finding in judge_client(played, "c")]


FAULTS = [
    ("any-id", "wrong-id", "client-association"),
    ("stores,sleepy", "early-answer", "client-association"),
    ("repair", "log-before", "client-accepts"),
    ("replace", "bad-utf8", "client-accepts"),
    ("splits", "hidden-between-cr", "client-accepts"),
    ("eager", "text-behind-a-pause", "client-accepts"),
    ("unterminated", "no-line-end", "client-accepts"),
]
"""Those in which something else may happen to the bytes on their way, or to the time between them.

All others are played without a process, see test_clients_that_fall.py.
"""


@pytest.mark.parametrize(("fault", "attack", "rule"), FAULTS)
def test_a_faulty_client_is_found_by_what_it_tells(fault: str, attack: str, rule: str) -> None:
    assert rules(one(fault, attack)) == [f"c|{rule}|{attack}"]


@pytest.mark.parametrize("attack", sorted({attack for _, attack, _ in FAULTS} | {"pieces"}))
def test_a_strict_client_is_not(attack: str) -> None:
    played = one("none", attack)
    assert played.exercised
    assert rules(played) == []


@pytest.mark.parametrize(
    ("fault", "attack"), [("loose-id,mute", "id-other-type"), ("replace,mute", "bad-utf8")]
)
def test_a_handshake_that_goes_on_needs_no_word_of_the_client(fault: str, attack: str) -> None:
    [signature] = rules(one(fault, attack, "handshake"))
    assert signature.endswith(f"|{attack}")
    assert rules(one("mute", attack, "handshake")) == []


def test_calls_at_once_are_told_apart() -> None:
    played = one("concurrent", "wrong-id")
    assert {told.text.split()[1] for told in played.reports} == set(played.truth.values())
    assert rules(played) == []


def test_answers_given_to_the_wrong_action_are_found() -> None:
    assert rules(one("concurrent,any-id", "id-of-a-request")) == []
    played = one("any-id,concurrent,string-ids", "wrong-id")
    assert rules(played) == ["c|client-association|wrong-id"]


def test_results_on_stderr_and_a_client_on_its_own_pipes_are_understood() -> None:
    assert {told.action for told in one("stderr", "wrong-id").reports} == {"alpha", "beta", "gamma"}
    direct = one("direct", "wrong-id")
    assert direct.exercised
    assert len(direct.reports) == 3


def test_a_client_that_takes_no_pieces_is_deaf() -> None:
    assert rules(one("eager,brittle", "pieces")) == ["c|client-deaf|pieces"]
    played = one("brittle,dies", "noise-log")
    assert rules(played) == []  # raising is closing


def test_death_and_hang_are_told() -> None:
    assert rules(one("dies", "log-storm")) == ["c|live-crash|SIGABRT"]
    played = one("lingers-at-eof", "no-line-end", terms=SHORT)
    assert rules(played) == ["c|live-hang|server-gone"]


def run(faults: str, out: Path, *attacks: str, seconds: float = 60.0) -> Report:
    told: list[object] = []
    return gate_client(
        launch(faults), Options(), "quick", out, told.append, seconds=seconds,
        attacks=select_attacks(attacks), terms=TERMS,
    )  # fmt: skip


def test_a_report_has_findings_on_disk_with_the_line_that_replays_them(tmp_path: Path) -> None:
    report = run("loose-id", tmp_path, "id-other-type", "wrong-id")
    [flaw] = report.flaws
    assert flaw.trials == ("id-other-type (call)", "id-other-type (handshake)")
    assert flaw.offending in Path(flaw.path).read_bytes()
    assert "= beta: result 'é F-" in Path(flaw.transcript).read_text()
    assert flaw.replay == shlex.join(["wirefence", "replay", flaw.path])
    metadata, case = Store(tmp_path).read_finding(Path(flaw.path))
    assert metadata.command is not None
    seen = examine_command(
        case, metadata.command.to_launch(), metadata.options, target=metadata.target
    )
    assert [each.signature for each in seen] == [metadata.signature]
    mended = examine_command(case, launch(), metadata.options, target=metadata.target)
    assert mended == []
    assert (report.facts.name, report.facts.release) == ("example", "9")
    assert report.reason == "done"


def test_a_strict_client_gets_a_clean_bill_and_a_mute_one_a_note(tmp_path: Path) -> None:
    report = run("mute", tmp_path, "wrong-id", "pieces")
    assert report.flaws == ()
    assert report.notes[0].startswith("The client reports no results")
    assert report.tally.attempts.keys() == {
        ("client reject", "within"),
        ("client accept", "within"),
    }


def test_what_the_budget_left_out_is_counted(tmp_path: Path) -> None:
    report = run("none", tmp_path, seconds=0.0)
    assert report.reason == "budget"
    assert sum(map(len, report.tally.skipped.values())) > 100


def test_an_interrupted_run_tells_what_it_found_and_what_it_left_out(tmp_path: Path) -> None:
    def interrupt(event: object) -> None:
        if isinstance(event, Progress):
            raise KeyboardInterrupt

    attacks = select_attacks(["id-other-type", "wrong-id", "glued"])
    report = gate_client(
        launch("loose-id"), Options(), "quick", tmp_path, interrupt, seconds=60.0,
        attacks=attacks, terms=TERMS,
    )  # fmt: skip
    assert report.reason == "interrupted"
    assert len(report.flaws) == 1
    assert report.gap.startswith("the run was interrupted after")
    assert sum(map(len, report.tally.skipped.values())) == 5
    assert not TERMS.ended.is_set()


@pytest.mark.parametrize(
    ("faults", "cause"),
    [("absent", "started no server"), ("lingers", "did not end a good session by itself")],
)
def test_a_client_that_is_none_is_refused_in_a_sentence(
    faults: str, cause: str, tmp_path: Path
) -> None:
    with pytest.raises(TargetError, match=cause):
        gate_client(launch(faults), Options(), "quick", tmp_path, print, seconds=60.0, terms=SHORT)


def test_a_silent_client_takes_no_longer_than_the_run_was_given(tmp_path: Path) -> None:
    terms = ClientTerms(start_patience=600.0, patience=0.5, quiet=0.15)
    silent = Launch(("sleep", "99"))
    with pytest.raises(TargetError, match="started no server within 1 s"):
        gate_client(silent, Options(), "quick", tmp_path, print, seconds=1.0, terms=terms)


SERVER = Path(__file__).parents[1] / "gate" / "servers" / "reference.py"
LATE = "import sys, time; time.sleep(1); exec(open(sys.argv.pop(1)).read())"


def test_a_server_by_mistake_is_told_from_a_client_that_says_nothing(tmp_path: Path) -> None:
    """It is asked behind the patience of one reply: long before that of a start is over."""
    terms = ClientTerms(start_patience=600.0, patience=0.3, quiet=0.15)
    server = Launch((sys.executable, str(SERVER), "2025-11-25", "close", "strict"))
    with pytest.raises(TargetError, match="it is a server and no client"):
        gate_client(server, Options(), "quick", tmp_path, print, seconds=600.0, terms=terms)


@pytest.mark.parametrize("fault", ["none", "direct"])
def test_a_slow_client_is_asked_and_passes(fault: str) -> None:
    words = (sys.executable, "-c", LATE, str(CLIENT), fault)
    terms = ClientTerms(start_patience=60.0, patience=0.1, quiet=0.15, doubtful=True)
    played = play_attack(Launch(words), GOOD, "handshake", terms)
    assert played.exercised


def test_what_sends_everything_back_is_no_server() -> None:
    terms = ClientTerms(start_patience=1.0, patience=0.1, doubtful=True)
    played = play_attack(Launch(("cat",)), GOOD, "handshake", terms)
    assert (played.received, played.ending) == (b"", "hung")


def test_an_unknown_attack_is_named() -> None:
    with pytest.raises(UsageError, match="there is no attack 'x'"):
        select_attacks(["x"])


def test_the_server_can_be_named_in_the_command(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text(
        "import os, sys\nos.environ['WIREFENCE_SERVER'] = sys.argv[1]\nsys.argv[1] = 'none'\n"
        f"exec(open({str(CLIENT)!r}).read())\n"
    )
    played = play_attack(
        Launch((sys.executable, str(script), "{server}")), GOOD, "handshake", TERMS
    )
    assert len(played.reports) == 3
