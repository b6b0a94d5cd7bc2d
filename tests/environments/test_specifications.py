"""What people write for a side, and the interpreter it is to run under."""

from __future__ import annotations

import platform
import shutil
import sys

import pytest

from wirefence.targets.environments import interpreters, prepare_side
from wirefence.targets.environments.interpreters import find_interpreter
from wirefence.targets.environments.specs import Spec, module_of, parse_spec
from wirefence.targets.errors import TargetError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("orjson==3.9.14", Spec("index", "orjson", "==3.9.14")),
        ("orjson == 3.9.14", Spec("index", "orjson", "== 3.9.14")),
        ("msgspec>=0.18,<0.19", Spec("index", "msgspec", ">=0.18,<0.19")),
        ("Pydantic_Core", Spec("index", "pydantic-core")),
        ("rapidjson==1.20", Spec("index", "python-rapidjson", "==1.20")),
        ("simplejson[pure]==3.19.1", Spec("index", "simplejson", "==3.19.1", option="pure")),
        ("json", Spec("standard")),
        ("json[bytes]", Spec("standard", option="bytes")),
        ("python:3.13", Spec("standard", python="3.13")),
        ("node", Spec("node")),
    ],
)
def test_a_specification_is_taken_apart(text, spec):
    assert parse_spec(text) == spec


@pytest.mark.parametrize(("text", "version"), [
    ("orjson==3.9.14", "3.9.14"), ("orjson==3.9.*", ""), ("orjson>=3", ""), ("orjson", ""),
    ("orjson==3,<4", ""), ("orjson===3.9", "3.9"), ("orjson === 3.9", "3.9"),
])  # fmt: skip
def test_only_one_exact_version_is_pinned(text, version):
    assert parse_spec(text).pinned == version


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no library to compare"),
        ("two words", "no library to compare"),
        ("orjson==", "no library to compare"),
        ("orjson; print(1)", "no library to compare"),
        ("--index=x", "no library to compare"),
        ("json==2.0", "comes with Python"),
        ("./absent.whl", "there is no ./absent.whl"),
        ("./absent/", "there is no"),
    ],
)
def test_what_is_no_specification_is_told_with_what_to_write(text, words):
    with pytest.raises(TargetError, match=words) as caught:
        parse_spec(text)
    assert caught.value.hint


def test_a_directory_must_be_a_project_and_a_file_a_wheel(tmp_path):
    with pytest.raises(TargetError, match=r"neither pyproject.toml nor setup.py"):
        parse_spec(str(tmp_path))
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(TargetError, match="neither a wheel nor a directory"):
        parse_spec(str(tmp_path / "notes.txt"))


def test_modules_have_the_names_they_are_imported_by():
    names = ("python-rapidjson", "pysimdjson", "pydantic-core", "orjson")
    assert [module_of(name) for name in names] == [
        "rapidjson", "simdjson", "pydantic_core", "orjson",
    ]  # fmt: skip


def test_this_python_is_found_by_version_by_path_and_by_default():
    here = platform.python_version()
    minor = ".".join(here.split(".")[:2])
    for wanted in (None, here, minor, f"python{minor}", sys.executable):
        assert find_interpreter(wanted).version == here


def test_a_version_is_no_prefix_of_another():
    with pytest.raises(TargetError, match=r"no Python 3\.1 was found; tried python3\.1 on PATH"):
        find_interpreter("3.1")


def test_a_name_on_path_that_runs_nothing_is_passed_over(tmp_path, monkeypatch):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\necho 'not here' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError, match=r"no Python 3\.99"):
        find_interpreter("3.99")


@pytest.mark.parametrize("body", ["#!/bin/sh\nexec sleep 60\n", "\x7fELF no program\n"])
def test_a_uv_that_does_not_answer_is_passed_over(tmp_path, monkeypatch, body):
    find_interpreter(None)  # asked before the clock is turned
    uv = tmp_path / "uv"
    uv.write_text(body)
    uv.chmod(0o755)
    sleep = shutil.which("sleep")
    assert sleep
    (tmp_path / "sleep").symlink_to(sleep)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(interpreters, "_SECONDS", 0.2)
    with pytest.raises(TargetError, match=r"no Python 3\.99 .* and uv"):
        find_interpreter("3.99")


def test_what_is_no_interpreter_is_told(tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "python").chmod(0o755)
    for wanted in (str(tmp_path / "python"), str(tmp_path / "absent"), "no-such-python"):
        with pytest.raises(TargetError, match="no Python interpreter that runs here"):
            find_interpreter(wanted)


def test_a_python_before_3_8_is_refused(tmp_path):
    old = tmp_path / "python3.7"
    old.write_text('#!/bin/sh\necho \'["CPython", "3.7.16", "3.7.16 (x)", "x86_64", ""]\'\n')
    old.chmod(0o755)
    with pytest.raises(TargetError, match=r"CPython 3\.7\.16, and a worker needs Python 3\.8"):
        find_interpreter(str(old))


def test_an_option_keeps_one_reader_and_a_wrong_one_is_told():
    assert prepare_side("json[bytes]").readers == ("bytes",)
    assert prepare_side("json").readers == ("str", "bytes")
    with pytest.raises(TargetError, match="json has no option 'tape', only str, bytes"):
        prepare_side("json[tape]")


def test_a_library_without_a_version_is_the_one_beside_us():
    side = prepare_side("msgspec")
    assert side.program.command[0] == sys.executable
    assert side.versions["installer"] == "none: it was here"
    assert side.label.startswith("msgspec 0.")


def test_strings_of_the_library_are_seeds():
    found = prepare_side("json").strings()
    assert {b"NaN", b"-Infinity", b"Expecting value"} <= set(found)
    assert all(0 < len(text) <= 40 for text in found)
    assert any(b"JSONDecodeError" in text for text in prepare_side("orjson").strings())
