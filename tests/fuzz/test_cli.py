"""The command line as a hostile stranger meets it: one sentence, the right code, no traceback."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from wirefence.fuzz import cli

TWICE = ("campaign", "--cases", "64", "--workers", "1", "--target", "planted:acts-twice")
FEW = ("campaign", "--cases", "2", "--workers", "1")


def test_findings_exit_1_and_a_second_run_says_nothing_new_and_exits_0(wirefence) -> None:
    first = wirefence(*TWICE)
    assert first.code == 1
    assert "FOUND non-action act-twice in planted:acts-twice" in first.out
    again = wirefence(*TWICE)
    assert (again.code, again.out.splitlines()[0][:15]) == (0, "Nothing new in ")


def test_a_finding_names_a_command_that_shows_it_again(wirefence) -> None:
    said = wirefence(*TWICE).out
    (line,) = [line for line in said.splitlines() if line.strip().startswith("wirefence explain")]
    shown = wirefence(*line.split()[1:])
    assert shown.code == 1
    assert "act-twice" in shown.out


def test_a_healthy_target_exits_0(wirefence) -> None:
    assert wirefence(*FEW, "--target", "planted:healthy").code == 0


def test_given_cases_are_told_from_generated_ones(wirefence, hostile: Path) -> None:
    (hostile / "own").write_bytes(b"1\n")
    ran = wirefence(*FEW, "--target", "json", "--corpus", "own")
    assert ran.out.startswith("Nothing new in 2 generated and 5 given cases, ")
    tally = json.loads(wirefence(*FEW, "--target", "json", "--format", "json").out)["tally"]
    assert (tally["cases"], tally["given"]) == (6, 4)


def test_json_goes_to_stdout_alone_and_progress_to_stderr(wirefence) -> None:
    ran = wirefence(*TWICE, "--format", "json")
    report = json.loads(ran.out)
    assert report["new"] == len(report["found"]) == 1
    assert 1e6 < report["peak_bytes"] < 1e9
    assert ran.err.startswith("seed 0, 1 targets, 1 workers")


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nope", "there is no target 'nope'"),
        ("", "there is no target ''"),
        ("planted:nope", "there is no planted fault 'nope'"),
        ("no.such.module:factory", "cannot import no.such.module"),
        ("failing:factory", "cannot import failing: ZeroDivisionError"),
        ("leaving:factory", "a target ended the process (9)"),
        ("hostile:absent", "module hostile has no absent"),
        ("hostile:number", "hostile:number is int, not a factory"),
    ],
)
def test_a_target_that_cannot_be_loaded_exits_2(wirefence, target: str, sentence: str) -> None:
    for words in (FEW, ("explain", "hostile.py")):
        ran = wirefence(*words, "--target", target)
        assert (ran.code, ran.out) == (2, "")
        assert sentence in ran.err
        if target != "failing:factory":  # what it printed stands before our sentence
            ran.complaint()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("hostile:raises", "its factory failed: RuntimeError: no luck today"),
        ("hostile:ends", "a target's factory ended the process"),
        ("hostile:text", "feed returned str"),
    ],
)
def test_a_target_that_cannot_start_exits_2(wirefence, target: str, sentence: str) -> None:
    for words in (FEW, ("explain", "hostile.py")):
        ran = wirefence(*words, "--target", target)
        assert (ran.code, ran.out) == (2, "")
        assert sentence in ran.err.splitlines()[-1]
        assert "Traceback" not in ran.err


def test_a_factory_of_nonsense_is_a_crash_of_every_case(wirefence) -> None:
    ran = wirefence(*FEW, "--target", "hostile:nonsense")
    assert ran.code == 1
    assert "the target ended (AttributeError) before its stdin ended" in ran.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seconds", "1", "--cases", "1"), "--seconds and --cases were both given"),
        (("--seconds", "x"), "'x' is not a number of seconds from 0.1 to 1,000,000,000"),
        (("--cases", "0"), "0 is not in the range"),
        (("--workers", "0"), "0 is not in the range"),
        (("--seed", "x"), "'x' is not a seed"),
        (("--corpus", "absent"), "there is no corpus at absent"),
        (("--out", "hostile.py"), "cannot write to hostile.py: a file is in the way"),
        (("--out", "hostile.py/sub"), "cannot write to hostile.py/sub: a file is in the way"),
        (("--out", "/proc/none"), "cannot write to /proc/none"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--nonsense",), "No such option"),
    ],
)
def test_wrong_usage_of_a_campaign_exits_2(wirefence, words, sentence: str) -> None:
    ran = wirefence("campaign", "--target", "json", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.complaint()


Words = tuple[str, ...]


def options(command: click.Command, path: Words) -> Iterator[tuple[Words, click.Parameter]]:
    """Each parameter of a command and of those below it, with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options(below, (*path, name))
    for each in command.params:
        yield path if isinstance(each, click.Argument) else (*path, each.opts[0]), each


COUNTED = {"--seconds", "--patience", "--start-patience", "--cases", "--workers", "--limit"}
AMOUNTS = [words for words, each in options(cli.cli, ()) if each.opts[0] in COUNTED]
PATHS = [words for words, each in options(cli.cli, ()) if isinstance(each.type, click.Path)]
REFUSED = ("0", "-1", "nan", "inf", "-inf", "1e300", "")


def test_amounts_and_paths_of_all_commands_are_tried() -> None:
    assert len({words[0] for words in AMOUNTS}) >= 8
    assert {words[0] for words in PATHS} == cli.COMMANDS.keys() - {"quirks"}


@pytest.mark.parametrize("words", AMOUNTS, ids=" ".join)
def test_no_option_takes_an_amount_of_nothing_or_without_end(wirefence, words) -> None:
    for amount in REFUSED:
        ran = wirefence(*words, amount)
        assert (ran.code, ran.out) == (2, "")
        assert ran.complaint().startswith(f"wirefence: Invalid value for '{words[-1]}': ")


LONG = "x" * 5_000


@pytest.mark.parametrize(
    "words",
    [
        ("replay", LONG),
        ("explain", LONG),
        ("minimize", LONG),
        ("crashes", "list", "--folder", LONG),
        ("compare", "json", "json", "--accept", LONG),
        ("campaign", "--corpus", LONG),
        ("campaign", "--cases", "1", "--target", "json", "--workers", "1", "--out", LONG),
        ("gate", "--out", LONG, "--", "true"),
    ],
    ids=lambda words: " ".join(words).replace(LONG, ""),
)
def test_a_path_that_the_system_refuses_is_no_failure_of_ours(wirefence, words) -> None:
    ran = wirefence(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint().endswith((" path", " permissions", " disk", "--out", " name", " list"))


def test_a_working_folder_that_is_gone_is_said(wirefence, hostile: Path) -> None:
    (hostile / "gone").mkdir()
    os.chdir(hostile / "gone")
    (hostile / "gone").rmdir()
    ran = wirefence("campaign", "--cases", "1", "--target", "json", "--out", str(hostile / "out"))
    os.chdir(hostile)
    assert ran.code == 2
    assert ran.err.endswith("wirefence: the working folder was removed; change to another one\n")


def test_a_python_without_our_requirements_is_told_so(wirefence, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "wirefence.fuzz.commands.quirks", raising=False)
    monkeypatch.setitem(sys.modules, "wirefence.oracles.quirks", None)
    monkeypatch.delattr("wirefence.oracles.quirks", raising=False)
    ran = wirefence("quirks")
    assert ran.code == 2
    assert (
        f"this Python ({sys.executable}) has no wirefence.oracles.quirks; run make setup"
        in ran.complaint()
    )


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_no_path_is_empty(wirefence, words) -> None:
    """A variable of a script that is not set must not mean the working folder."""
    ran = wirefence(*words, "")
    assert (ran.code, ran.out) == (2, "")
    assert "the path is empty; see --help" in ran.complaint()


def test_choices_that_click_lists_on_lines_of_their_own_are_said_on_one(wirefence) -> None:
    ran = wirefence("fuzz")
    assert ran.code == 2
    assert "Choose from: fuzz_parsers, fuzz_gateway," in ran.complaint()


@pytest.mark.parametrize(
    "metadata", [b"", b"[]", b"{}", b'{"signature": 5}', b"\xff", b"[" * 100_000]
)
def test_damaged_metadata_in_out_exits_2_rather_than_forget_a_finding(
    wirefence, hostile: Path, metadata: bytes
) -> None:
    (hostile / "out/agreement").mkdir(parents=True)
    (hostile / "out/agreement/x.json").write_bytes(metadata)
    ran = wirefence(*FEW, "--target", "json", "--out", "out")
    assert ran.code == 2
    assert "out/agreement/x.json is not valid metadata" in ran.complaint()


def test_a_finding_that_cannot_be_written_exits_2(wirefence, hostile: Path) -> None:
    (hostile / "out").mkdir()
    (hostile / "out/non-action").touch()
    ran = wirefence(*TWICE, "--out", "out")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("wirefence: cannot write to out/non-action/act-")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("absent",), "cannot read absent: No such file"),
        ((".",), "cannot read .: Is a directory"),
        (("bad.frame",), "the metadata beside bad.frame is not valid"),
        (("hostile.py", "--protocol", "1999-01-01"), "'1999-01-01' is not one of"),
        ((), "Missing argument 'FILE'"),
    ],
)
def test_wrong_usage_of_explain_exits_2(wirefence, hostile, words, sentence: str) -> None:
    (hostile / "bad.frame").write_bytes(b"1\n")
    (hostile / "bad.json").write_bytes(b'{"protocol": "2025-11-25", "cuts": [1.5]}')
    ran = wirefence("explain", "--target", "json", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.complaint()


def test_explain_takes_stdin_empty_binary_or_closed(wirefence) -> None:
    words = ("explain", "-", "--target", "orjson")
    empty = wirefence(*words, stdin=b"")
    assert empty.code == 0
    assert empty.out.splitlines()[2] == "The input is empty: it has no frame."
    content = json.loads(wirefence(*words, "--format", "json", stdin=b"").out)
    assert (content["bytes"], content["frames"], content["documents"]) == (0, [], [])
    binary = wirefence(*words, stdin=b"\xff\x00\x1b[31m\xe2\x80\xae\n")
    assert binary.code == 0
    assert binary.out.replace("\n", "").isprintable()
    assert r"\x1b[31m" in binary.out
    closed = wirefence(*words, stdin=None)
    assert (closed.code, closed.complaint()[:27]) == (2, "wirefence: stdin is closed;")


def test_explain_exits_1_where_a_parser_differs(wirefence) -> None:
    text = b'{"a":1,"a":2}\n'
    ran = wirefence("explain", "-", "--target", "json", "--format", "json", stdin=text + b"NaN\n")
    content = json.loads(ran.out)
    assert [row["parsers"][0]["differs"] != "" for row in content["documents"]] == [False, True]
    assert ran.code == bool(content["findings"])


def test_explain_survives_a_target_that_kills_the_process(wirefence) -> None:
    ran = wirefence("explain", "-", "--target", "hostile:kills", stdin=b'"POISON"\n')
    assert ran.code == 1
    assert "live-crash in process: the process died (SIGKILL)" in ran.out
    assert "The judge on the session:\n    1  rpc-" in ran.out


def test_explain_does_not_wait_for_ever(wirefence) -> None:
    words = ("explain", "-", "--target", "hostile:hangs", "--patience", "0.5")
    ran = wirefence(*words, stdin=b"POISON\n")
    assert ran.code == 1
    assert "live-hang in process: the case did not end within 0.5 s" in ran.out


def test_a_fault_of_our_own_exits_3_and_asks_for_a_report(wirefence, monkeypatch) -> None:
    def broken(*_words: object, **_options: object) -> None:
        raise LookupError("of ours")

    monkeypatch.setattr("wirefence.fuzz.commands.explain.explain_in_child", broken)
    ran = wirefence("explain", "-", "--target", "json")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.strip().endswith("wirefence: LookupError: of ours; please report this")


def test_no_words_at_all_show_the_help(wirefence) -> None:
    ran = wirefence()
    assert (ran.code, ran.out) == (2, "")
    assert "\nCommands:\n" in ran.err


@pytest.mark.parametrize("option", ["--corpus", "--out"])
def test_an_empty_path_does_not_mean_the_working_folder(wirefence, option: str) -> None:
    ran = wirefence(*FEW, option, "")
    assert (ran.code, ran.out) == (2, "")
    assert "the path is empty" in ran.complaint()


def test_a_corpus_that_is_neither_file_nor_folder_exits_2(wirefence, hostile: Path) -> None:
    os.mkfifo(hostile / "fifo")
    assert "neither file nor folder" in wirefence(*FEW, "--corpus", "fifo").complaint()


@pytest.mark.parametrize("word", ["9" * 5000, "\x1b[31mred", "two\nlines", "\ud800"])
def test_a_complaint_is_one_short_line_whatever_was_given(wirefence, word: str) -> None:
    for option in ("--seed", "--target", "--cases"):
        complaint = wirefence(*FEW, option, word).complaint()
        assert complaint.isprintable()
        assert len(complaint) < 900
        assert ".;" not in complaint
