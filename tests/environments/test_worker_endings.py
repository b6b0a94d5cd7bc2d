"""What ends a worker is found and told as that input's outcome, and the batch goes on."""

from __future__ import annotations

import pytest

from wirefence.targets.environments import Context, prepare_side
from wirefence.targets.environments.protocol import digest_of

DEADLY = """
import ctypes, os, sys
def loads(raw):
    if raw == b"segv": ctypes.string_at(0)
    if raw == b"exit": os._exit(7)
    if raw == b"hang":
        while True: pass
    if raw == b"eat": return len(bytearray(1 << 40))
    if raw == b"rust":
        sys.stderr.write("memory allocation of 99 bytes failed")
        sys.stderr.flush()
        os.abort()
    if raw == b"quit": raise SystemExit(3)
    if raw == b"print":
        print("noise", flush=True)
        return sys.stdin.read()
    return len(raw)
"""
SHORT = Context(deadline=1.0)


def around(raw, before=150, after=150):
    return [b"x"] * before + [raw] + [b"yy"] * after


@pytest.mark.parametrize(
    ("raw", "kind", "error"),
    [
        (b"segv", "death", "SIGSEGV"),
        (b"exit", "death", "exit 7"),
        (b"hang", "hang", "timeout"),
        (b"eat", "memory", "builtins.MemoryError"),
        (b"rust", "memory", "SIGABRT"),
        (b"quit", "escape", "builtins.SystemExit"),
    ],
)
def test_an_ending_is_the_outcome_of_its_input_alone(opened, raw, kind, error):
    raws = around(raw)
    with opened(DEADLY, SHORT) as worker:
        seen = worker.outcomes(raws)
        digests = worker.digests(raws)
        assert worker.usage.unsteady == 0
    assert (seen[150].kind, seen[150].error) == (kind, error)
    assert [one.kind for one in seen[:150] + seen[151:]] == ["accept"] * 300
    assert digests == [digest_of(one) for one in seen]


def test_several_endings_in_one_batch_are_all_found(opened):
    raws = [b"segv", b"1", b"exit", b"segv", b"22", b"exit"]
    with opened(DEADLY) as worker:
        kinds = [one.kind for one in worker.outcomes(raws)]
        assert worker.usage.restarts >= 4
    assert kinds == ["death", "accept", "death", "death", "accept", "death"]


def test_an_ending_that_does_not_repeat_is_no_outcome(opened, tmp_path):
    once = tmp_path / "died"
    planted = f"""
import os, pathlib
def loads(raw):
    mark = pathlib.Path({str(once)!r})
    if raw == b"odd" and not mark.exists():
        mark.touch()
        os.abort()
    return 1
"""
    with opened(planted) as worker:
        assert {one.kind for one in worker.outcomes(around(b"odd"))} == {"accept"}
        assert worker.usage.unsteady == 1


def test_an_ending_that_needs_its_forerunner_is_not_put_down_to_the_input(opened):
    planted = """
import os
seen = []
def loads(raw):
    seen.append(raw)
    if seen[-2:] == [b"first", b"second"]: os.abort()
    return 1
"""
    with opened(planted) as worker:
        seen = worker.outcomes([b"first", b"second", b"third"])
        assert worker.usage.unsteady == 1
    assert [one.kind for one in seen] == ["accept"] * 3


def test_what_a_library_prints_or_reads_stays_out_of_the_protocol(opened):
    with opened(DEADLY) as worker:
        assert [one.kind for one in worker.outcomes([b"print", b"x"])] == ["accept", "accept"]


def test_what_a_dying_library_says_is_kept(opened):
    with opened("import os, sys\ndef loads(raw): sys.stderr.write('why\\n'); os.abort()") as worker:
        assert "why" in worker.outcomes([b"1"])[0].message


def test_depth_depends_on_the_pinned_context_and_not_on_the_caller():
    side = prepare_side("json")
    nested = [b"[" * n + b"]" * n for n in (90, 700)]

    def deeply(frames):
        return deeply(frames - 1) if frames else worker.digests(nested)

    with side.worker() as worker:
        assert deeply(0) == deeply(500)
    with side.worker(Context(recursion_limit=500)) as shallow:
        kinds = [one.kind for one in shallow.outcomes(nested, reader="bytes")]
        assert kinds[0] == "accept"
    assert side.facts.context["recursion_limit"] == 1_000
    assert side.facts.context["frames"] == 2


def test_frames_move_the_caller_down(opened):
    planted = """
import sys
def loads(raw):
    frame, depth = sys._getframe(), 0
    while frame.f_back: frame, depth = frame.f_back, depth + 1
    return [depth, sys.getrecursionlimit()]
"""
    for frames in (2, 10, 900):
        with opened(planted, Context(frames=frames)) as worker:
            told = worker.outcomes([b"x"])[0].value
        assert told == b"[\x02\x00\x00\x00i" + frames.to_bytes(4, "little") + b"i\xe8\x03\x00\x00"


def test_the_stack_is_ours_whatever_the_shell_says():
    with prepare_side("json").worker(Context(stack=1 << 20)) as worker:
        assert worker.facts.context["stack"] == 1 << 20


def test_usage_counts_inputs_time_and_memory(opened):
    with opened("def loads(raw): return len(bytearray(1 << 26))") as worker:
        worker.digests([b"ab", b"c"])
        usage = worker.usage
    assert (usage.inputs, usage.bytes) == (2, 3)
    assert usage.cpu_seconds > 0
    assert usage.peak_bytes - worker.facts.idle_bytes > 1 << 25


def test_an_empty_batch_gives_nothing():
    with prepare_side("json").worker() as worker:
        assert worker.digests([]) == []
        assert worker.outcomes([]) == []


def test_two_workers_work_side_by_side():
    side = prepare_side("json")
    with side.worker() as one, side.worker() as other:
        pending = [worker.begin([b"[1]", b"["]) for worker in (one, other)]
        first, second = (batch.block() for batch in pending)
    assert first == second
    assert len(first) == 16
