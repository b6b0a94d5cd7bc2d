"""Each way of not getting a library is one sentence that names what was tried."""

# ruff: noqa: E501 - lines as installers wrote them

from __future__ import annotations

import os
import stat

import pytest

from wirefence.targets.environments import prepare_side
from wirefence.targets.environments.installers import Installer, Request, _explain_failure
from wirefence.targets.environments.interpreters import find_interpreter
from wirefence.targets.errors import TargetError

PIP_VERSION = """ERROR: Could not find a version that satisfies the requirement orjson==99.1 (from versions: 3.12.0, 3.13.0)
ERROR: No matching distribution found for orjson==99.1"""
PIP_NAME = """ERROR: Could not find a version that satisfies the requirement nosuch==1 (from versions: none)
ERROR: No matching distribution found for nosuch==1"""
PIP_PYTHON = """ERROR: Ignored the following versions that require a different python version: 3.13.0 Requires-Python >=3.10
ERROR: Could not find a version that satisfies the requirement orjson==3.13.0 (from versions: 3.10.15)
ERROR: No matching distribution found for orjson==3.13.0"""
PIP_TAGS = """ERROR: Could not find a version that satisfies the requirement orjson==2.0.7 (from versions: 3.12.0)
ERROR: No matching distribution found for orjson==2.0.7
  Skipping link: none of the wheel's tags (cp38-cp38-manylinux1_x86_64) are compatible: orjson-2.0.7-cp38-cp38-manylinux1_x86_64.whl"""
PIP_BUILD = """  error: subprocess-exited-with-error
      warning: spurious network error: failed to resolve address: Name or service not known
      error: failed to get `serde_json` as a dependency of package `orjson v2.2.0`
  note: This error originates from a subprocess, and is likely not a problem with pip.
error: metadata-generation-failed
hint: See above for details."""
PIP_NETWORK = """WARNING: Retrying after connection broken by 'NewConnectionError(Connection refused)': orjson
ERROR: Could not find a version that satisfies the requirement orjson==3.9.13 (from versions: none)
ERROR: No matching distribution found for orjson==3.9.13"""
UV_VERSION = """error: No solution found when resolving dependencies
  cause: Because there is no version of orjson==99.1 and you require orjson==99.1, we can conclude"""
UV_NAME = """  cause: Because nosuch was not found in the package registry and you require nosuch==1, we can"""
UV_PYTHON = """error: No solution found when resolving dependencies
  cause: Because the current Python version (3.8.18) does not satisfy Python>=3.10 and orjson==3.13.0
         depends on Python>=3.10, we can conclude that orjson==3.13.0 cannot be used."""
UV_BUILD = """error: Failed to download and build `orjson==2.2.0`
  cause: `pyproject.toml` is using the `[project]` table"""
UV_NETWORK = """error: Request failed after 3 retries in 8.8s
  cause: error sending request for url
  cause: Connection refused (os error 111)"""


@pytest.mark.parametrize(
    ("said", "uv", "words"),
    [
        (
            PIP_VERSION,
            "",
            "there is no orjson 9 (tried with pip); the last ones there are 3.12.0, 3.13.0",
        ),
        (UV_VERSION, "uv", "there is no orjson 9 (tried with uv)"),
        (PIP_NAME, "", "the package index has no orjson"),
        (UV_NAME, "uv", "the package index has no orjson"),
        (PIP_PYTHON.replace("3.13.0", "9"), "", "orjson 9 does not support CPython"),
        (UV_PYTHON, "uv", "orjson 9 does not support CPython"),
        (PIP_TAGS, "", "orjson 9 has no wheel for CPython"),
        (PIP_BUILD, "", "building it failed: error: failed to get `serde_json`"),
        (UV_BUILD, "uv", "building it failed: cause: `pyproject.toml`"),
        (PIP_NETWORK, "", "no package index could be reached for orjson 9 (tried with pip)"),
        (UV_NETWORK, "uv", "no package index could be reached for orjson 9 (tried with uv)"),
        ("ERROR: something new\n\n", "", "pip could not install orjson 9: ERROR: something new"),
        ("", "", "it said nothing"),
    ],
)
def test_what_an_installer_says_becomes_one_sentence(said, uv, words):
    request = Request("orjson==9", "orjson", "9")
    error = _explain_failure(said, request, find_interpreter(None), Installer(uv))
    assert words in str(error)
    assert "\n" not in str(error)


def sound(cache):
    return [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


def test_a_wheel_for_another_python_is_told(wheel, tmp_path):
    path = wheel("", tag="cp36-cp36m-win32")
    with pytest.raises(TargetError, match="has no wheel for CPython"):
        prepare_side(str(path), cache=tmp_path / "cache")
    assert sound(tmp_path / "cache")


def test_a_build_that_fails_is_told_with_its_reason(project, tmp_path):
    folder = project("", failing="raise RuntimeError('no compiler of tea')")
    with pytest.raises(
        TargetError, match="building project failed: RuntimeError: no compiler of tea"
    ):
        prepare_side(str(folder), cache=tmp_path / "cache")
    assert sound(tmp_path / "cache")


def test_an_index_that_is_out_of_reach_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("WIREFENCE_INSTALLER", "pip")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.delenv("PIP_EXTRA_" + "INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_" + "INDEX_URL", "http:" + "//127.0.0.1:9/simple")
    with pytest.raises(TargetError, match=r"no package index could be reached for orjson 3\.9\.13"):
        prepare_side("orjson==3.9.13", cache=tmp_path / "cache")
    assert sound(tmp_path / "cache")


def test_a_library_that_fails_to_import_is_told(wheel, tmp_path):
    path = wheel("raise ImportError('libtea.so is missing')")
    with pytest.raises(TargetError, match=r"cannot work: ImportError.*libtea\.so is missing"):
        prepare_side(str(path), cache=tmp_path / "cache")


def test_a_module_that_reads_nothing_is_told(wheel, tmp_path):
    with pytest.raises(TargetError, match="cannot work: AttributeError"):
        prepare_side(str(wheel("x = 1")), cache=tmp_path / "cache")


def planted_uv(folder, body):
    folder.mkdir()
    script = folder / "uv"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_an_installer_on_a_full_disk_is_told(wheel, tmp_path, monkeypatch):
    monkeypatch.delenv("WIREFENCE_INSTALLER", raising=False)
    body = "echo 'error: No space left on device (os error 28)' >&2; exit 2"
    monkeypatch.setenv("PATH", planted_uv(tmp_path / "bin", body))
    with pytest.raises(TargetError, match=r"the disk of .*cache is full"):
        prepare_side(str(wheel("")), cache=tmp_path / "cache")
    assert sound(tmp_path / "cache")


def test_uv_is_used_where_it_is_and_pip_where_it_is_asked_for(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", planted_uv(tmp_path / "bin", "echo 'error: planted' >&2; exit 2"))
    monkeypatch.delenv("WIREFENCE_INSTALLER", raising=False)
    with pytest.raises(TargetError, match="error: planted"):
        prepare_side(str(wheel("def loads(raw): return 1")), cache=tmp_path / "cache")
    monkeypatch.setenv("WIREFENCE_INSTALLER", "pip")
    side = prepare_side(str(wheel("def loads(raw): return 1")), cache=tmp_path / "cache")
    assert side.versions["installer"] == "pip"


def test_an_installer_that_is_neither_is_told(wheel, tmp_path, monkeypatch):
    monkeypatch.setenv("WIREFENCE_INSTALLER", "conda")
    with pytest.raises(TargetError, match="WIREFENCE_INSTALLER is 'conda'"):
        prepare_side(str(wheel("")), cache=tmp_path / "cache")
