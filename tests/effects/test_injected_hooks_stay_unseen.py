"""A hook must not be noticed by the server: not by what it prints, finds, or has of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.effects.driving import NODE, NONCE, PYTHON, drive, needs_node, start
from wirefence.targets.command.records import Launch
from wirefence.targets.effects.available import Recording
from wirefence.targets.effects.python_audit import PythonAudit

OTHERS = sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python"))  # siblings of this one


def printed(code: str, env: dict[str, str | None], cwd: Path, *options: str) -> list[str]:
    argv = (sys.executable, *options, "-c", code)
    with Recording.of(Launch(argv, env, cwd), ["python", "node", "ssh"]) as recording:
        process = start(recording.launch)
        out, err = process.communicate(timeout=60)
        assert err == b""
        return out.decode().splitlines()


def test_a_sitecustomize_of_the_server_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.MARK = __file__\n")
    env: dict[str, str | None] = {"PYTHONPATH": str(tmp_path)}
    code = "import sitecustomize; print(MARK); print(sitecustomize.__file__)"
    assert printed(code, env, tmp_path) == [str(tmp_path / "sitecustomize.py")] * 2


def test_the_search_path_of_modules_is_as_it_was(tmp_path: Path) -> None:
    code = "import sys; print(*sys.path, sep='\\n')"
    plain = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert printed(code, {}, tmp_path) == plain.stdout.splitlines()


def test_no_descriptor_is_open_in_the_server(tmp_path: Path) -> None:
    code = "import os; open('x', 'w').close(); print(sorted(os.listdir('/proc/self/fd')))"
    assert printed(code, {}, tmp_path) == ["['0', '1', '2', '3']"]  # 3 lists the folder itself


def test_a_journal_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    recorder = PythonAudit()
    launch = recorder.wrap(Launch((*PYTHON,), {}, tmp_path))
    recorder.close()
    process = start(launch)
    out, err = process.communicate(b"write a1\n", timeout=60)
    assert (out, err) == (b"done a1\n", b"")
    assert recorder.take() == []


def test_all_recorders_together_see_the_act_and_change_nothing(tmp_path: Path) -> None:
    seen = drive(PYTHON, None, [f"rename {NONCE}", f"run {NONCE}", f"http {NONCE}"], tmp_path)
    assert seen.stdout == f"done {NONCE}\n".encode() * 3
    assert (seen.stderr, seen.code) == (b"", 0)
    assert {"files", "http", "python"} <= {each.recorder for each in seen.of(NONCE)}
    moments = [each.at for each in seen.effects]
    assert moments == sorted(moments)
    assert all(moments)


@needs_node
def test_node_keeps_the_options_that_it_had(tmp_path: Path) -> None:
    env: dict[str, str | None] = {"NODE_OPTIONS": "--max-http-header-size=9999"}
    argv = ("node", "-p", "require('http').maxHeaderSize")
    with Recording.of(Launch(argv, env, tmp_path), ["node"]) as recording:
        out, err = start(recording.launch).communicate(timeout=60)
        assert (out, err) == (b"9999\n", b"")
        assert recording.status() == {"node": "on"}


@needs_node
def test_patched_functions_of_node_look_as_they_did(tmp_path: Path) -> None:
    code = (
        "const fs = require('fs'), util = require('util'), cp = require('child_process');"
        "console.log(fs.writeFile.name, fs.writeFile.length, typeof fs.rm[util.promisify.custom]);"
        "util.promisify(cp.exec)('echo hi').then((r) => console.log(r.stdout.trim()));"
    )
    plain = subprocess.run(["node", "-e", code], capture_output=True, check=True).stdout
    with Recording.of(Launch(("node", "-e", code), {}, tmp_path), ["node"]) as recording:
        out, err = start(recording.launch).communicate(timeout=60)
        assert (out, err) == (plain, b"")
        assert [each.detail for each in recording.take()] == [b"/bin/sh -c echo hi"]


@pytest.mark.parametrize("python", OTHERS, ids=[path.parts[-3] for path in OTHERS])
def test_other_pythons_are_watched_or_left_alone(python: Path, tmp_path: Path) -> None:
    minor = int(python.parts[-3].split(".")[1])
    seen = drive((str(python), PYTHON[1]), ["python"], [f"rename {NONCE}"], tmp_path)
    assert seen.stdout == f"done {NONCE}\n".encode()
    if minor >= 8:
        assert (seen.kinds(NONCE), seen.stderr) == ({"write", "rename"}, b"")
    else:
        assert seen.status == {"python": "no Python process has loaded the hook"}


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_a_program_that_loads_no_hook_is_not_said_to_be_watched(tmp_path: Path) -> None:
    with Recording.of(Launch(("sh", "-c", "true"), {}, tmp_path), ["python", "node"]) as recording:
        start(recording.launch).communicate(timeout=60)
        assert set(recording.status()) == {"python", "node"}
        assert "on" not in recording.status().values()


def test_ssh_without_input_and_through_wrappers_is_recorded(tmp_path: Path) -> None:
    script = "ssh -n host one </dev/null; scp a host:two; printf three | sftp host"
    with Recording.of(Launch(("sh", "-c", script), {}, tmp_path), ["ssh"]) as recording:
        out, err = start(recording.launch).communicate(timeout=60)
        assert (out, err) == (b"", b"")
        seen = [(each.detail, each.content) for each in recording.take()]
    assert seen == [
        (b"ssh -n host one", b""),
        (b"scp a host:two", b""),
        (b"sftp host", b""),
        (b"sftp host <stdin", b"three"),
    ]


def test_the_fake_ssh_takes_no_frame_from_a_server_that_hands_on_its_stdin(tmp_path: Path) -> None:
    with Recording.of(Launch(PYTHON, {}, tmp_path), ["ssh"]) as recording:
        process = start(recording.launch)
        assert process.stdin is not None
        process.stdin.write(b"ssh_inherits a1\n")
        process.stdin.flush()
        while not recording.take():  # ssh has begun, and the next line is still to come
            time.sleep(0.01)
        out, _ = process.communicate(b"idle a2\n", timeout=60)
        assert out == b"done a1\ndone a2\n"


@needs_node
def test_node_and_python_are_told_apart(tmp_path: Path) -> None:
    status = drive(NODE, ["python", "node"], ["idle a1"], tmp_path).status
    assert status == {"python": "no Python process has loaded the hook", "node": "on"}
