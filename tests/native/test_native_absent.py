"""Whatever is missing is one sentence with what to do, and everything else goes on."""

from __future__ import annotations

import shlex
import sys
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.native.processes import python
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native import build, cpython, toolchain
from wirefence.fuzz.native.__main__ import command
from wirefence.fuzz.native.build import make_environment, prepare
from wirefence.fuzz.native.cache import Cache
from wirefence.fuzz.native.cpython import find_source, sources_of
from wirefence.fuzz.native.toolchain import (
    Toolchain,
    compile_extension,
    find_failure,
    find_toolchain,
)

MINOR = "{}.{}".format(*sys.version_info[:2])


@pytest.fixture
def tools(tmp_path) -> Toolchain:
    return Toolchain(
        tmp_path / "clang", tmp_path / "clang++", "clang 0", tmp_path / "so", address=False
    )


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def tree(folder: Path, version: str) -> Path:
    """A source tree of CPython as far as anything looks at it."""
    for name in ("Modules", "Include"):
        (folder / name).mkdir(parents=True)
    (folder / "Modules" / "_json.c").write_text("#error no source\n")
    (folder / "Include" / "patchlevel.h").write_text(f'#define PY_VERSION      "{version}"\n')
    return folder


@pytest.mark.usefixtures("no_compiler")
def test_a_missing_clang_is_one_sentence(tmp_path):
    with pytest.raises(UsageError) as caught:
        prepare(root=tmp_path)
    assert caught.value.cause.startswith("clang is not installed")
    assert caught.value.hint == "apt-get install clang, or go on without --native"


@pytest.mark.parametrize("words", ["wirefence.fuzz.native", "wirefence fuzz fuzz_parsers --native"])
def test_a_command_says_it_without_a_traceback(tmp_path, words):
    done = python({"PATH": str(tmp_path)}, "-m", *words.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("wirefence: clang is not installed")
    assert done.stderr.count("\n") == 1


def test_missing_headers_are_one_sentence(monkeypatch, tmp_path):
    for name in ("clang", "clang++"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(UsageError, match=r"headers of this Python .* apt-get install python3-dev"):
        find_toolchain()


def test_a_missing_atheris_is_one_sentence(monkeypatch):
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="atheris is not installed"):
        toolchain._find_runtime(address=False)


def test_an_unknown_library_is_one_sentence():
    with pytest.raises(UsageError, match="'orjson' is no library that can be instrumented"):
        prepare(["orjson"])
    with pytest.raises(UsageError, match="no library was named"):
        prepare([])


def test_an_index_out_of_reach_is_one_sentence(tmp_path, tools):
    said = "ERROR: Could not find a version that satisfies the requirement ujson==6.1.0\n"
    error = build._explain_build_failure("ujson", "6.1.0", tools, said)
    assert error.cause == "the source of ujson 6.1.0 was not found on a package index"


def test_a_build_that_fails_names_its_first_error(tools):
    said = "  cc -c x.c\n  x.c:3:1: error: unknown type name 'Foo'\n  x.c:4: error: other\nfailed\n"
    error = build._explain_build_failure("ujson", "6.1.0", tools, said)
    assert error.cause.endswith("clang 0 failed: x.c:3:1: error: unknown type name 'Foo'")
    assert find_failure("") == "it said nothing"


@pytest.mark.parametrize("name", ["my cache", "a:b"])
def test_a_path_that_no_variable_can_hold_is_one_sentence(tmp_path, tools, name):
    with pytest.raises(UsageError, match=r"cannot name .* for its space or colon"):
        make_environment(tools, [tmp_path / name], tmp_path / "relay.so")


def test_a_library_that_cannot_be_built_leaves_the_others(native, monkeypatch):
    native("_json")

    def fail(*_):
        raise UsageError("no index", "connect")

    monkeypatch.setattr(build, "_read_installed_version", fail)
    made = prepare(["ujson", "_json"])
    assert made.names == ("_json",)
    assert made.missing == {"ujson": "no index; connect"}


def test_a_module_without_hooks_is_refused(tmp_path, tools):
    plain = tmp_path / "x.so"
    plain.write_bytes(b"\x7fELF")
    for path in (plain, tmp_path / "absent.so"):
        with pytest.raises(UsageError, match="the build made no instrumented"):
            build._check_instrumented(path, tools)


def test_a_named_source_tree_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv(cpython.VARIABLE, str(tree(tmp_path / "t", f"{MINOR}.99+")))
    source = find_source(Cache(tmp_path / "cache"))
    assert (source.folder, source.version) == (tmp_path / "t", f"{MINOR}.99+")


@pytest.mark.parametrize("version", ["3.1.5", f"{MINOR}1.0", "nonsense"])
def test_a_source_tree_of_another_version_is_refused(monkeypatch, tmp_path, version):
    monkeypatch.setenv(cpython.VARIABLE, str(tree(tmp_path / "t", version)))
    with pytest.raises(UsageError, match=rf"is CPython {version}, and this is {MINOR}"):
        find_source(Cache(tmp_path / "cache"))


def test_a_folder_that_is_no_source_tree_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(cpython.VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match="is no source tree of CPython"):
        find_source(Cache(tmp_path / "cache"))


def test_a_distribution_without_apt_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cpython, "_list_kept_trees", lambda: iter(()))
    with pytest.raises(UsageError, match=f"set {cpython.VARIABLE} to a source tree"):
        find_source(Cache(tmp_path / "cache"))


def fake_apt(folder: Path, code: int) -> Path:
    """An apt-get that notes each call, has no package and ends with ``code`` on an update."""
    apt, log = folder / "apt-get", folder / "log"
    apt.write_text(
        f"#!/bin/sh\necho call >> {log}\nfor word; do\n"
        f'  if [ "$word" = update ]; then exit {code}; fi\ndone\nexit 100\n'
    )
    apt.chmod(0o755)
    return log


@pytest.mark.parametrize(("code", "remembered"), [(100, False), (0, True)])
def test_apt_without_the_package_is_one_sentence(monkeypatch, tmp_path, code, remembered):
    log = fake_apt(tmp_path, code)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cpython, "_list_kept_trees", lambda: iter(()))
    cache = Cache(tmp_path / "cache")
    with pytest.raises(UsageError, match=f"apt-get reaches no source package of CPython {MINOR}"):
        find_source(cache)
    assert not list((tmp_path / "cache").glob("cpython*"))
    calls = log.read_text()
    with pytest.raises(UsageError, match=f"CPython {MINOR}"):
        find_source(cache)
    assert (log.read_text() == calls) is remembered


def test_source_packages_are_asked_for_where_packages_come_from(tmp_path):
    old, new = tmp_path / "a.list", tmp_path / "b.sources"
    old.write_text(
        "# deb http://no main\ndeb [arch=amd64 signed-by=/k.gpg] http://a stable main x\n"
    )
    new.write_text("Types: deb\nURIs: http://b\nSuites: stable\nEnabled: no\n")
    assert sources_of(old) == (
        "Types: deb-src\nURIs: http://a\nSuites: stable\nComponents: main x\nSigned-By: /k.gpg"
    )
    assert sources_of(new) == "Types: deb-src\nURIs: http://b\nSuites: stable\nEnabled: no\n"
    assert sources_of(new.rename(tmp_path / "c.disabled")) == ""


def test_a_source_that_does_not_compile_is_one_sentence(native, tmp_path):
    native("_json")
    source = tree(tmp_path / "t", f"{MINOR}.0") / "Modules" / "_json.c"
    with pytest.raises(UsageError, match=r"cannot compile _json.c: .*error: no source"):
        compile_extension(find_toolchain(), source, tmp_path / "x.so")


def test_the_command_prints_what_was_built(native):
    native("_json")
    done = CliRunner().invoke(command, ["_json", "--seconds", "0"])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].startswith("compiler    ")
    assert done.stdout.splitlines()[1].startswith("_json       ")


def test_the_command_prints_an_environment_that_a_shell_can_take(native):
    env = native("_json").env
    done = CliRunner().invoke(command, ["_json", "--env"])
    words = [shlex.split(line) for line in done.stdout.splitlines()]
    assert {word[0] for word in words} == {"export"}
    assert dict(word[1].split("=", 1) for word in words) == env


def test_a_sanitizer_without_native_code_is_refused():
    done = python({}, "-m", "wirefence", "fuzz", "fuzz_parsers", "--sanitizer", "address")
    assert done.returncode == 2
    assert done.stderr == "wirefence: --sanitizer works with native builds only; add --native\n"
