"""The command as a user meets it: verdict first, exit codes, formats, reviewed differences."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from html.parser import HTMLParser

import click
import pytest

from wirefence.fuzz.cli import cli
from wirefence.fuzz.errors import UsageError
from wirefence.targets.errors import TargetError

NAN = ("compare", "json", "simplejson", "--input", "4e614e")


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, str]:
        code = cli.main(list(args), standalone_mode=False)
        return code, capsys.readouterr().out

    return call


def test_identical_sides_show_no_difference(run):
    code, out = run("compare", "json", "json", "--seconds", "3")
    assert code == 0
    assert out.startswith("No semantic difference over ")
    assert "Again: wirefence compare json json --seed 0 --seconds 3" in out


def test_a_swap_is_reported_verdict_first_then_classes_speed_and_command(run):
    code, out = run("compare", "json", "simplejson", "--seconds", "3", "--format", "json")
    assert code == 1
    report = json.loads(out)
    assert report["verdict"].startswith("Behaviour changed in ")
    (pair,) = report["pairs"]
    found = {each["name"]: each for each in pair["found"]}
    nan = found["nan: newly-rejected"]
    assert (nan["input"], nan["spelled"], nan["size"]) == ("b'NaN'", "4e614e", 3)
    assert (nan["old"], nan["new"]) == ("nan", "rejects simplejson.JSONDecodeError")
    assert nan["why"].startswith("For a spelling of NaN")
    assert found["reemit-nonfinite: newly-rejected (writing)"]["input"] == "nan"
    assert all(side["speed"]["rate"] > 0 for side in report["sides"])
    assert all(side["speed"]["peak_bytes"] > 1_000_000 for side in report["sides"])


def test_a_value_to_be_written_is_no_input_and_has_no_size(run):
    _, out = run("compare", "json", "orjson", "--seconds", "0.5")
    lines = out.splitlines()
    start = lines.index("reemit-nonfinite: type (meaning of the text)")
    assert lines[start + 2].startswith("  value    nan  (in memory; each side was told to write")
    assert "value)" not in out
    assert "smallest nan" not in out


@pytest.mark.parametrize(
    ("raw", "interrupted", "code"),
    [(b"NaN", False, 1), (b"NaN", True, 1), (b"1", False, 0), (b"1", True, 2)],
)
def test_no_difference_is_a_verdict_of_a_whole_run_only(run, monkeypatch, raw, interrupted, code):
    def explore(self, _origin):
        self.run_inputs([raw])
        self.tally.interrupted = interrupted

    monkeypatch.setattr("wirefence.fuzz.compare.session._measure_speeds", lambda _: [])
    monkeypatch.setattr("wirefence.fuzz.compare.session._compare_writing", lambda *_: None)
    monkeypatch.setattr("wirefence.fuzz.compare.run.Comparison.run", explore)
    assert run("compare", "json", "orjson", "--seconds", "3")[0] == code


def test_lines_of_transcripts_that_are_left_out_are_said(monkeypatch, tmp_path, capsys):
    (tmp_path / "x.transcript").write_text("> C:\\x\n> \\\n")
    monkeypatch.setattr(
        "wirefence.fuzz.commands.compare.prepare_side", lambda *_, **__: pytest.fail("too late")
    )
    with pytest.raises(pytest.fail.Exception):
        cli.main([*NAN, "--corpus", str(tmp_path)], standalone_mode=False)
    assert "2 lines of transcripts are not escaped" in capsys.readouterr().err


def test_ctrl_c_while_speed_is_measured_ends_the_comparison(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("wirefence.fuzz.compare.session.measure_speed", interrupted)
    with pytest.raises(click.exceptions.Abort):
        run("compare", "json", "simplejson", "--seconds", "3")


def test_one_input_is_compared_alone(run):
    code, out = run(*NAN)
    assert code == 1
    assert out.startswith("Behaviour changed in 1 class over 1 input.")
    assert run("compare", "json", "simplejson", "--input", "31")[0] == 0


def test_markdown_has_a_row_for_each_class(run):
    _, out = run(*NAN, "--format", "markdown")
    assert out.startswith("**Behaviour changed in 1 class")
    assert "| nan: newly-rejected | b'NaN' | nan | rejects simplejson.JSONDecodeError |" in out


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_one_balanced_page_that_escapes_what_it_shows(run):
    hostile = b'"<script>\\ud800"'.hex()
    _, out = run("compare", "json", "orjson", "--input", hostile, "--format", "html")
    tags = _Tags()
    tags.feed(out)
    assert tags.open == []
    assert "table" in tags.seen
    assert not tags.seen & {"script", "link", "img"}
    assert "&lt;script&gt;" in out


def test_three_sides_give_a_grid_of_all_pairs(run):
    _, out = run("compare", "json", "simplejson", "json", "--input", "4e614e")
    assert out.startswith("1 of 3 pairs show no semantic difference")
    lines = out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("classes "))
    rows = [line.split() for line in lines[start : start + 4]]
    assert rows[0] == ["classes", "json", "simplejson", "json"]
    assert rows[1] == ["json", ".", "1", "0"]
    assert rows[2] == ["simplejson", "1", ".", "1"]


def test_reviewed_differences_pass_and_new_ones_do_not(run, tmp_path):
    path = tmp_path / "accepted.json"
    assert run(*NAN, "--accept", str(path))[0] == 1
    (row,) = json.loads(path.read_text())["accepted"]
    assert (row["old"], row["new"], row["class"]) == ("json", "simplejson", "nan: newly-rejected")
    code, out = run(*NAN, "--accept", str(path))
    assert code == 0
    assert "1 accepted class aside" in out
    before = path.read_bytes()
    code, out = run(*NAN, "--input", b"Infinity".hex(), "--accept", str(path))
    assert code == 1
    assert path.read_bytes() == before


def test_a_file_of_accepted_differences_is_written_where_there_is_none(run, tmp_path):
    path = tmp_path / "accepted.json"
    same = ("compare", "json", "json", "--input", "4e614e", "--accept", str(path))
    assert run(*same)[0] == 0
    assert json.loads(path.read_text()) == {"format": 2, "accepted": []}
    assert run(*same)[0] == 0
    assert run(*NAN, "--accept", str(path))[0] == 1


def test_the_same_class_between_other_libraries_is_not_accepted(run, tmp_path):
    path = tmp_path / "accepted.json"
    run(*NAN, "--accept", str(path))
    assert run("compare", "json", "orjson", "--input", "4e614e", "--accept", str(path))[0] == 1


def test_users_traffic_is_counted_apart(run, tmp_path):
    (tmp_path / "t.jsonl").write_bytes(b'{"a":1}\n{"a":NaN}\n{"a":NaN,"b":2}\n')
    _, out = run("compare", "json", "simplejson", "--corpus", "t.jsonl", "--seconds", "0.1")
    assert "On your traffic: 1 class shows in 3 inputs." in out
    assert "times, 4 of them on your traffic" in out
    _, out = run("compare", "json", "json", "--corpus", "t.jsonl", "--seconds", "0.1")
    assert "On your traffic: no difference in 3 inputs." in out


@pytest.mark.parametrize(
    ("args", "cause"),
    [
        (("json",), "two sides"),
        (("json", "json", "--input", "xyz"), "hexadecimal"),
        (("json", "json", "--corpus", "absent"), "no corpus at absent"),
        (("json", "json", "--accept", "damaged.json"), "not a valid list of accepted"),
    ],
)
def test_bad_requests_are_one_sentence(run, tmp_path, args, cause):
    (tmp_path / "damaged.json").write_text('{"format": 2, "accepted": [1]}')
    with pytest.raises(UsageError, match=cause):
        run("compare", *args)


def test_a_side_that_cannot_be_had_is_named(run):
    with pytest.raises(TargetError, match=r"2\.1"):
        run("compare", "json", "python:2.1")


@pytest.mark.parametrize(("option", "where"), [("--out", "taken"), ("--accept", "absent/a.json")])
def test_a_place_that_cannot_be_written_is_told_before_the_run(
    run, tmp_path, capsys, option, where
):
    (tmp_path / "taken").touch()
    with pytest.raises(UsageError, match=f"cannot write to {where}"):
        run(*NAN, option, where)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_told_to_end_it_reports_what_it_has(tmp_path):
    words = [sys.executable, "-m", "wirefence", "compare", "json", "simplejson", "--seconds", "600"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "comparisons" in line and " 0 classes" not in line:
            break
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "(interrupted)" in out.splitlines()[0]
