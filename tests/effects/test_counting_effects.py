"""Effects counted against a control session: names that vary are equal, others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effects.driving import PYTHON, drive
from wirefence.targets.effects.counting import (
    count_effects,
    count_surplus,
    normalize_effect,
    normalize_text,
)
from wirefence.targets.effects.records import EffectKind, Observed


def seen(detail: bytes, kind: EffectKind = "write") -> Observed:
    return Observed("python", kind, detail)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"/srv/tmpabc12345/x", b"/srv/tmpzz_98765/x"),
        (b"/srv/log-2026-01-01", b"/srv/log-2025-12-31"),
        (b"127.0.0.1:40001", b"127.0.0.1:51234"),
        (b"/a/0123456789abcdef.json", b"/a/fedcba9876543210.json"),
        (b"/a/8e1b0c9e-3f7a-4c7f-9f57-0d9a2b3c4d5e", b"/a/00000000-1111-2222-3333-444444444444"),
        (b"/a/dir-Ab3dE9/x", b"/a/dir-zZ9yY8/x"),
        (b"/a/dir-AbcdEf/x", b"/a/dir-ghijk7/x"),
        (b"/a/session.QxRtYu -> /b", b"/a/session.qXrTyU -> /b"),
    ],
)
def test_names_that_are_new_each_time_are_equal(one: bytes, other: bytes) -> None:
    assert normalize_effect(seen(one)) == normalize_effect(seen(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"/srv/one", b"/srv/two"),
        (b"/srv/deadbeef.txt", b"/srv/facade.txt"),
        (b"example.com:443", b"example.org:443"),
        (b"echo one", b"echo two"),
        (b"/srv/report-backup", b"/srv/report-secret"),
        (b"/srv/Report-Backup/x", b"/srv/Report-Secret/x"),
        (b"/srv/REPORT_BACKUP", b"/srv/REPORT_SECRET"),
        (b"/srv/report.backup", b"/srv/report.secret"),
    ],
)
def test_other_names_are_not(one: bytes, other: bytes) -> None:
    assert normalize_effect(seen(one)) != normalize_effect(seen(other))


@pytest.mark.parametrize(
    "detail",
    [
        b"/a/__pycache__/x.cpython-311.pyc.140",
        b"/a/__pycache__/x.pyc.1 -> /a/__pycache__/x.pyc",
        b"/dev/null",
        b"/dev/tty",
        b"/proc/self/oom_score_adj",
    ],
)
def test_what_interpreters_do_by_themselves_counts_as_nothing(detail: bytes) -> None:
    assert normalize_effect(seen(detail)) is None
    assert normalize_effect(seen(b"/srv" + detail.replace(b"__pycache__", b"cache"))) is not None


def test_action_names_are_equal_and_the_control_is_subtracted() -> None:
    case = count_effects([seen(b"/x/one"), seen(b"/x/one"), seen(b"/x/a1b"), seen(b"/y")], ["a1b"])
    control = count_effects([seen(b"/x/one"), seen(b"/x/c2d")], ["c2d"])
    extra = count_surplus(case, control)
    assert {(kind, detail): n for (_, kind, detail), n in extra.items()} == {
        ("write", b"/x/one"): 1,
        ("write", b"/y"): 1,
    }


def test_a_server_that_acts_without_a_name_is_given_away_by_the_count(tmp_path: Path) -> None:
    names = ["python"]
    control = count_effects(drive(PYTHON, names, ["idle a1", "fill a2"], tmp_path).effects)
    case = count_effects(drive(PYTHON, names, ["fill a1", "fill a2"], tmp_path).effects)
    assert [kind[1] for kind in count_surplus(case, control)] == ["write"]
    assert count_surplus(control, case) == {}


def test_settled_keeps_words() -> None:
    assert normalize_text(b"listening on port 8080 since 12:30") == b"listening on port # since #:#"
