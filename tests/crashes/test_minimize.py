"""Minimizing keeps the fault, whatever happens meanwhile, and of whatever kind it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crashes.conftest import CALL, HANDSHAKE, Git, Wirefence, filed, noisy
from wirefence.fuzz.crashes.compared_sides import save_differences
from wirefence.fuzz.crashes.minimize import MinimizeLimits, MinimizeResult, minimize_reproducer
from wirefence.fuzz.crashes.replay import (
    CHANGED,
    FIXED,
    STILL,
    choose_exit_code,
    replay_reproducers,
)
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.shrink.deviation_guard import list_deviations
from wirefence.fuzz.store.metadata import make_metadata
from wirefence.fuzz.store.scan import Entry, scan_folder
from wirefence.fuzz.store.store import Store, case_from_bytes
from wirefence.oracles.records import make_finding
from wirefence.targets.errors import TargetError


def minimized(entry: Entry, **terms: object) -> MinimizeResult:
    said: list[tuple[int, int]] = []
    store = Store(entry.path.parent.parent)
    return minimize_reproducer(
        entry, store, MinimizeLimits(**terms), lambda runs, size: said.append((runs, size))
    )


def test_a_fault_of_parsers_in_a_session_comes_out_as_its_document(here: Path):
    entry = filed(here / "f", noisy(b'{"a":[1,{"b":NaN}]}\n'), "parser:ujson", "nan")
    done = minimized(entry)
    assert done.state == "done"
    assert done.entry.case.data == b"NaN"
    assert done.entry.metadata.original_size == len(entry.case.data)
    assert scan_folder(here / "f").problems == ()
    assert [each.path for each in scan_folder(here / "f").entries] == [done.entry.path]


def test_a_fault_of_a_gateway_keeps_its_signature(here: Path):
    data = noisy(b"nonsense\n", 4)
    entry = filed(here / "f", data, "planted:skips-bad-lines", "act-after-close")
    done = minimized(entry, workers=2)
    assert done.entry.metadata.signature == entry.metadata.signature
    assert done.entry.case.data.count(b"\n") == 4
    assert len(done.entry.case.data) < 320


def test_a_finding_of_stripped_white_space_keeps_its_handshake(here: Path):
    call = (CALL % (7, 7)).removesuffix(b"\n") + "\u3000\n".encode()
    entry = filed(here / "f", noisy(call, 4), "planted:strips-unicode-space", "act-rejected")
    done = minimized(entry)
    assert done.entry.metadata.signature == entry.metadata.signature
    assert done.entry.metadata.signature.endswith("|json-syntax:unicode-space")
    assert b'"initialize"' in done.entry.case.data
    assert list_deviations(done.entry.case) == {"json-syntax:unicode-space"}


def test_an_input_with_two_deviations_ends_with_one(here: Path):
    nan = (CALL % (7, 7)).replace(b'"note":', b'"options":{"x":NaN},"note":')
    boolean = (CALL % (8, 8)).replace(b'"id":8', b'"id":true')
    data = HANDSHAKE + nan + CALL % (1, 1) + boolean
    entry = filed(here / "f", data, "planted:takes-nan", "act-rejected|json-syntax:nan")
    assert list_deviations(entry.case) == {"json-syntax:nan", "rpc-id:boolean"}
    done = minimized(entry)
    assert done.entry.metadata.signature == entry.metadata.signature
    assert list_deviations(done.entry.case) == {"json-syntax:nan"}


def test_a_message_keeps_its_id_and_version(here: Path):
    call = (CALL % (7, 7)).replace(b'"note"', b'"action":"n-8","note"')
    entry = filed(here / "f", noisy(call, 4), "planted:last-duplicate-wins", "act-rejected")
    frames = minimized(entry).entry.case.data.splitlines()
    assert len(frames) == 3
    assert all(b'"jsonrpc":"2.0"' in frame for frame in frames)
    assert b'"id":' in frames[-1]


def test_findings_of_two_rules_stay_two_and_are_both_committed(
    here: Path, git: Git, wirefence: Wirefence
):
    """Without its second deviation each could be made smaller than it may be."""
    target, folder = "planted:folds-case-of-members", here / ".wirefence/findings"
    upper = (CALL % (7, 7)).replace(b'"method"', b'"METHOD"')
    both = (CALL % (8, 8)).replace(b'"method"', b'"Id":8,"method"')
    wanted = {
        filed(folder, noisy(each, 4), target, part).metadata.signature
        for each, part in ((upper, "act-rejected|rpc-kind"), (both, "act-rejected|rpc-unknown"))
    }
    assert wirefence("minimize", "--all").code == 0
    assert wirefence("crashes", "commit").code == 0
    kept = scan_folder(here / "crashes").entries
    assert {each.metadata.signature for each in kept} == wanted


def test_a_case_that_kills_the_process_is_minimized(here: Path):
    case = case_from_bytes(noisy(b"PIPOISONOISE\n", 4))
    found = make_finding("liveness", "live-crash", "suspect:kills", "exit 9", "died")
    metadata = make_metadata(found, case, versions={})
    entry = Entry(Store(here / "f").write_reproducer(metadata, case.data), metadata, case)
    done = minimized(entry)
    assert done.entry.case.data == b"POISON\n"


def test_a_flaky_fault_is_run_often_enough(here: Path):
    case = case_from_bytes(b"some\nPOISON here\nlines\n")
    found = make_finding("non-action", "act-unfounded", "suspect:flaky/close", "none", "")
    metadata = make_metadata(found, case, versions={})
    entry = Entry(Store(here / "f").write_reproducer(metadata, case.data), metadata, case)
    done = minimized(entry, limit=400)
    assert 0 < done.shown < done.trials
    assert done.entry.case.data == b"POISON\n"


def test_pauses_are_kept_where_they_matter(here: Path):
    data = b"a line\nPOISON\nanother\n"
    entry = filed(here / "f", data, "suspect:halves", "act-unfounded", cuts=(3, 10, 20))
    done = minimized(entry)
    assert done.entry.case.data == b"POISON\n"
    assert len(done.entry.case.cuts) == 1


def test_pauses_go_where_they_do_not_matter(here: Path):
    entry = filed(here / "f", b"[NaN]\n" * 3, "parser:ujson", "nan", cuts=(2, 5))
    assert minimized(entry).entry.case.cuts == ()


def test_two_documents_of_one_fault_of_a_parser_have_one_place(here: Path):
    filed(here / "f", b"[NaN,9007199254740993]", "parser:ujson", "nan")
    filed(here / "f", b"[NaN,1.5]", "parser:ujson", "nan")
    (entry,) = scan_folder(here / "f").entries
    done = minimized(entry)
    assert not done.merged
    assert done.entry.case.data == b"NaN"
    assert done.entry.path == entry.path


def test_a_fault_of_a_parser_keeps_its_first_trait(here: Path):
    """It may lose the others: that a valid trait comes first in the table does not matter here."""
    raw = b'[9007199254740993, [1,], "\xc3\xa9"]'
    entry = filed(here / "f", raw, "parser:rapidjson[relaxed]", "agree-accept|trailing-comma")
    done = minimized(entry)
    assert done.entry.metadata.signature == entry.metadata.signature
    assert done.entry.case.data == b"[0,]"


def test_two_differences_of_one_fault_have_one_place(here: Path):
    store, sides = Store(here / "f"), ("json", "orjson")
    save_differences([b"[NaN,9007199254740993]", b"[NaN,1.5]"], sides, "", store)
    (entry,) = scan_folder(here / "f").entries
    done = minimized(entry)
    assert not done.merged
    assert done.entry.path == entry.path
    assert done.entry.case.data == b"NaN"


def test_a_finding_that_is_gone_is_left_as_it_was(here: Path, wirefence: Wirefence):
    entry = filed(here / "f", b"[NaN]", "parser:ujson", "nan")
    gone = make_metadata(
        make_finding("reply", "reply-code", "planted:healthy-not", "k", "s"),
        entry.case,
        versions={},
    )
    path = Store(here / "g").write_reproducer(gone, entry.case.data)
    with pytest.raises(TargetError, match="healthy-not"):
        wirefence("minimize", str(path))
    other = make_metadata(
        make_finding("reply", "reply-code", "parser:ujson", "k", "s"), entry.case, versions={}
    )
    path = Store(here / "g").write_reproducer(other, entry.case.data)
    ran = wirefence("minimize", str(path))
    assert ran.code == 1
    assert "does not show" in ran.out
    assert path.read_bytes() == entry.case.data


def test_names_and_all_exclude_each_other(wirefence: Wirefence):
    for words in ((), ("x", "--all")):
        with pytest.raises(UsageError):
            wirefence("minimize", *words)


def test_a_folder_without_findings_is_told(here: Path, wirefence: Wirefence):
    (here / "empty").mkdir()
    ran = wirefence("minimize", "--all", "--from", "empty")
    assert (ran.code, ran.out) == (0, "There is nothing to minimize below empty.\n")


def test_out_of_time_keeps_the_best_so_far_and_goes_on_later(here: Path, wirefence: Wirefence):
    entry = filed(here / "f", noisy(b"[NaN]\n", 40), "parser:ujson", "nan")
    ran = wirefence("minimize", str(entry.path), "--limit", "6")
    assert "run it again" in ran.out
    (half,) = scan_folder(here / "f").entries
    assert 3 < len(half.case.data) < len(entry.case.data)
    assert half.metadata.original_size == len(entry.case.data)
    wirefence("minimize", str(half.path))
    assert scan_folder(here / "f").entries[0].case.data == b"NaN"


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_ended_at_any_moment_nothing_is_lost(here: Path, end: signal.Signals):
    entry = filed(
        here / "f", noisy(b"nonsense\n", 60), "planted:skips-bad-lines", "act-after-close"
    )
    command = [sys.executable, "-m", "wirefence", "minimize", str(entry.path), "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    until = time.monotonic() + 240
    while entry.path.stat().st_size == len(entry.case.data) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, end)
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    shelf = scan_folder(here / "f")
    assert [each for each in shelf.problems if not each.redundant] == []
    (left,) = shelf.entries
    assert len(left.case.data) < len(entry.case.data)
    assert [each.verdict for each in replay_reproducers([left])] == [STILL]


def test_replay_says_what_became_of_each(here: Path, wirefence: Wirefence):
    entry = filed(here / "crashes", b"[NaN]", "parser:ujson", "nan")
    assert wirefence("replay").code == 0
    wirefence("crashes", "mark", entry.id, "fixed")
    ran = wirefence("replay")
    assert ran.code == 1
    assert "must show nothing" in ran.out
    wirefence("crashes", "mark", entry.id, "open")
    ran = wirefence("replay", str(entry.path), "--target", "parser:orjson")
    assert (ran.code, FIXED in ran.out) == (0, True)
    assert wirefence("replay", "--target", "parser:json").code == 1


def test_an_open_fault_that_is_gone_asks_to_be_marked(here: Path, wirefence: Wirefence):
    case = case_from_bytes(b"[1]")
    found = make_finding("agreement", "agree-accept", "parser:ujson", "accepts: nan", "x")
    Store(here / "crashes").save_finding(found, case, versions={"ujson": "0.1"})
    ran = wirefence("replay")
    assert ran.code == 1
    assert "mark" in ran.out
    assert "ujson 0.1 then" in ran.out


def test_in_another_target_effect_and_deviation_count(here: Path):
    entry = filed(here / "f", b"[NaN]", "parser:ujson", "nan")
    changed = Entry(entry.path, entry.metadata, case_from_bytes(b"[Infinity]"))
    said = replay_reproducers([entry, changed], target="parser:json")
    assert [each.verdict for each in said] == [STILL, CHANGED]


def test_another_fault_is_a_change(here: Path):
    entry = filed(here / "f", b"[NaN]", "parser:ujson", "nan")
    changed = Entry(entry.path, entry.metadata, case_from_bytes(b"[-]"))
    (said,) = replay_reproducers([changed])
    assert (said.verdict, said.expected, bool(said.seen)) == (CHANGED, False, True)
    assert choose_exit_code([said]) == 1


def test_what_cannot_be_run_is_an_error_and_exits_2(here: Path, wirefence: Wirefence):
    case = case_from_bytes(b"[1]")
    for target in ("parser:none", "nothing:here", "planted:none"):
        Store(here / "crashes").save_finding(
            make_finding("reply", "r", target, "k", "s"), case, versions={}
        )
    ran = wirefence("replay")
    assert (ran.code, ran.out.count("ERROR")) == (2, 3)
    with pytest.raises(UsageError):
        wirefence("replay", str(here / "none"))
