"""Environments of others' servers: what may be missing here, and what is made anew."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.environments.absence import skip_where_absent
from tests.servers import prepare as preparing
from tests.servers.catalogue import HERE, SERVERS
from tests.servers.prepare import npm_error, prepare
from wirefence.targets.errors import TargetError

LOCK = json.loads((HERE / "package-lock.json").read_bytes())


@pytest.mark.parametrize("code", ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT"])
def test_an_index_that_cannot_be_reached_is_a_reason_to_skip(code):
    error = npm_error(f"npm error code {code}\nnpm error network request failed")
    with pytest.raises(pytest.skip.Exception):
        skip_where_absent(error)


@pytest.mark.parametrize(
    "said", ["npm error code EUSAGE\nnpm error lock file", "npm error code E404"]
)
def test_any_other_failure_of_npm_is_ours(said):
    with pytest.raises(TargetError, match="npm could not install"):
        skip_where_absent(npm_error(said))


def put(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("version", ["", "v18.20.4"])
def test_no_node_or_an_old_one_is_a_reason_to_skip(tmp_path, monkeypatch, version):
    if version:
        put(tmp_path, "npm", "exit 1")
        put(tmp_path, "node", f"echo {version}")
    monkeypatch.setattr(preparing, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetError) as raised:
        prepare("node")
    with pytest.raises(pytest.skip.Exception):
        skip_where_absent(raised.value)


def test_an_installation_that_failed_is_made_anew_and_one_that_is_whole_is_kept(
    tmp_path, monkeypatch
):
    counted = tmp_path / "count"
    put(tmp_path, "node", "echo v20.1.0")
    put(tmp_path, "npm", f'echo >> {counted}\n[ "$(wc -l < {counted})" -ge 2 ]')
    monkeypatch.setattr(preparing, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(TargetError):
        prepare("node")
    folder = prepare("node")
    assert prepare("node") == folder
    assert len(counted.read_text().splitlines()) == 2
    (folder / "wirefence-mark").write_text("made from another list")
    prepare("node")
    assert len(counted.read_text().splitlines()) == 3


def test_the_lock_names_no_index():
    assert not [name for name, each in LOCK["packages"].items() if "resolved" in each]


def test_every_package_is_pinned():
    for name in ("python-1.txt", "python-2.txt"):
        lines = [x for x in (HERE / name).read_text().splitlines() if not x.startswith("#")]
        pins = (line.partition("; python_full_version")[0] for line in lines)
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    wanted = json.loads((HERE / "package.json").read_bytes())["dependencies"]
    assert LOCK["packages"][""]["dependencies"] == wanted
    assert all(re.fullmatch(r"[\d.]+", version) for version in wanted.values())


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_each_server_has_a_pinned_version(server):
    assert re.fullmatch(r"\d[\w.]*", server.version)
