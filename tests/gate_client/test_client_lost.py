"""A client that can't be started any more: what was found is told, and holds no secret."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from wirefence.fuzz.gate.client.attacks import GOOD
from wirefence.fuzz.gate.client.records import Attack, ClientPlace, PlayedAttack
from wirefence.fuzz.gate.client.run import gate_client, select_attacks
from wirefence.fuzz.gate.client.session import ClientTerms
from wirefence.fuzz.gate.records import Options, Report
from wirefence.fuzz.gate.report.text import decide_verdict
from wirefence.oracles.client import ClientReport
from wirefence.targets.command.records import Launch
from wirefence.targets.errors import TargetError

SECRET = "hunter2-hunter2"
TOLD = (ClientReport("alpha", "é T-m-1", error=False), ClientReport("beta", "F-m", error=False))
PLAYED = PlayedAttack(
    GOOD, "call", b'{"a":1}\n', b"{}\n", b"", b"bad", {"alpha": "T-m-1"}, "F-m", TOLD[:1],
    exercised=True, ending="exited", status="exit code 0", stderr=b"", version="2025-11-25",
)  # fmt: skip


class Plays:
    """Plays without any process: each attack is taken, but for one play that can't begin."""

    def __init__(self, lost: str, turn: int) -> None:
        self.lost, self.turn = lost, turn
        self.begun: Counter[str] = Counter()

    def __call__(
        self, launch: Launch, attack: Attack, place: ClientPlace, terms: ClientTerms
    ) -> PlayedAttack:
        del launch, terms
        if attack is GOOD:
            return PLAYED
        self.begun[attack.name] += 1
        if attack.name == self.lost and self.begun[attack.name] == self.turn:
            raise TargetError(f"there is no command '{SECRET}'", "check its spelling")
        return replace(PLAYED, attack=attack, place=place, reports=TOLD)


def run(monkeypatch: pytest.MonkeyPatch, out: Path, plays: Plays, *attacks: str) -> Report:
    monkeypatch.setattr("wirefence.fuzz.gate.client.run.play_attack", plays)
    launch = Launch(("client", "--password", SECRET))
    return gate_client(
        launch, Options(label="c"), "quick", out, lambda _event: None, seconds=60.0,
        attacks=select_attacks(attacks),
    )  # fmt: skip


def test_what_was_found_before_a_client_was_lost_is_told(monkeypatch, tmp_path):
    attacks = ("stale-id", "second-answer", "early-answer", "wrong-id", "glued")
    report = run(monkeypatch, tmp_path, Plays("second-answer", 2), *attacks)
    assert (report.reason, decide_verdict(report)) == ("lost", "findings")
    assert [flaw.finding.signature for flaw in report.flaws] == ["c|client-association|stale-id"]
    told = "s, with 5 trials not run: there is no command '***'; check its spelling"
    assert report.gap.endswith(told)
    assert report.tally.pending == {"c|client-association|second-answer": 1}


def test_a_client_that_is_lost_at_once_gets_no_verdict(monkeypatch, tmp_path):
    report = run(monkeypatch, tmp_path, Plays("wrong-id", 1), "wrong-id")
    assert (report.reason, decide_verdict(report), report.flaws) == ("lost", "none", ())


def test_nothing_of_a_finding_holds_a_secret(monkeypatch, tmp_path):
    told = (
        ClientReport(SECRET + "\n<", "F-m", error=False),
        ClientReport("\ud800", "x", error=True),
        *TOLD,
    )
    raw = b"x" * 4_090 + SECRET.encode() + b"\n"
    leaking = replace(PLAYED, reports=told, sent=raw, received=raw, offending=raw)
    made = lambda _launch, attack, place, _terms: replace(  # noqa: E731
        replace(PLAYED, name=f"c {SECRET}") if attack is GOOD else leaking,
        attack=attack,
        place=place,
    )
    monkeypatch.setattr("wirefence.fuzz.gate.client.run.play_attack", made)
    launch = Launch(("client", "--password", SECRET))
    heard: list[object] = []
    report = gate_client(
        launch, Options(label="c"), "quick", tmp_path, heard.append, seconds=60.0,
        attacks=select_attacks(["second-answer"]),
    )  # fmt: skip
    files = [path.read_text() for path in tmp_path.rglob("*.transcript")]
    assert len(files) == 1
    kept = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert '"c ***"' in kept[0]
    told_of = [repr(report.facts), *(flaw.finding.summary for flaw in report.flaws)]
    everything = "".join([*files, *kept, *map(repr, heard), *told_of])
    assert "\n= ***\\n<: result 'F-m'\n= \\ud800: error 'x'\n" in files[0]
    without_bytes = everything.replace(repr(raw), "")
    assert "hunter" not in without_bytes


def test_a_finding_that_the_disk_does_not_take_is_still_one(monkeypatch, tmp_path):
    (tmp_path / "client").write_bytes(b"")  # where a folder is wanted
    report = run(monkeypatch, tmp_path, Plays("", 0), "second-answer")
    [flaw] = report.flaws
    assert (flaw.path, flaw.replay) == ("", "")
    assert report.notes[-1].startswith("not kept on disk: cannot write to")


def test_what_is_reported_wrongly_is_told_in_few_words_and_without_secrets(monkeypatch, tmp_path):
    told = (ClientReport("alpha", "x" * 70 + SECRET + "y" * 500, error=False),)
    monkeypatch.setattr(
        "wirefence.fuzz.gate.client.run.play_attack", lambda *_: replace(PLAYED, reports=told)
    )
    with pytest.raises(TargetError) as refused:
        gate_client(Launch(("client", "--password", SECRET)), Options(), "quick", tmp_path, print,
                    seconds=60.0)  # fmt: skip
    assert f"the client reported '{'x' * 70}***yyyy...' for 'alpha'" in refused.value.cause
