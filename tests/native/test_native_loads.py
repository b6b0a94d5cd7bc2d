"""The instrumented copies are built, load, and are told apart from everything that looks alike."""

from __future__ import annotations

import sys

import pytest
import simplejson

from tests.native.processes import python
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.libraries import NAMES
from wirefence.fuzz.native.loaded import assert_loaded
from wirefence.fuzz.native.measure import measure_libraries

ASK = """
import sys
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.loaded import assert_loaded
try:
    assert_loaded({names!r}, address={address!r})
except UsageError as error:
    sys.exit(str(error))
"""


def asked(env, *names: str, address: bool = False) -> str:
    """What ``assert_loaded`` has to say in a process of its own; nothing where all is well."""
    done = python(env, "-c", ASK.format(names=names, address=address))
    assert "Traceback" not in done.stderr, done.stderr
    return done.stderr.strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_loads_and_its_edges_are_seen(native, name):
    made = native(name)
    assert asked(made.env, name) == ""
    (figures,) = measure_libraries(made, seconds=1)
    assert figures.edges > 200
    assert figures.rate > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_gives_the_values_of_the_installed_library(native, name):
    module = {"_json": "json"}.get(name, name)
    code = f"import {module}; print({module}.loads('[1, -2.5e3, \"\\\\u00e9\", null, {{}}]'))"
    assert python(native(name).env, "-c", code).stdout == python({}, "-c", code).stdout != ""


@pytest.mark.parametrize("name", NAMES)
def test_the_missing_preload_is_noticed(native, name):
    env = {"PYTHONPATH": native(name).env["PYTHONPATH"]}
    said = asked(env, name)
    assert said.startswith(f"{name} is not running its instrumented copy: its C code did not load")
    assert "undefined symbol" in said


def test_without_its_preload_json_goes_on_in_pure_python(native):
    env = {"PYTHONPATH": native("_json").env["PYTHONPATH"]}
    code = "import json; print(json.loads('[1]'), json.scanner.c_make_scanner)"
    assert python(env, "-c", code).stdout == "[1] None\n"


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_library_is_not_taken_for_a_copy(name):
    # Some distributions have _json in the interpreter itself.
    is_file = name not in sys.builtin_module_names
    why = "was built without __sanitizer_cov" if is_file else "is built into this interpreter"
    assert why in asked({}, name)


def test_a_copy_that_is_not_watched_is_not_taken_for_one_that_is(native):
    assert "was built without __asan_init" in asked(native("_json").env, "_json", address=True)


def test_a_watched_copy_loads(native):
    made = native("_json", address=True)
    assert asked(made.env, "_json", address=True) == ""
    assert "asan_with_fuzzer.so" in made.env["LD_PRELOAD"].split(":")[0]


def test_a_scanner_that_was_swapped_out_is_noticed(monkeypatch):
    monkeypatch.setattr("wirefence.fuzz.native.loaded.COVERAGE", b"")
    monkeypatch.setattr("wirefence.fuzz.native.loaded._RELAYED", "malloc")
    assert_loaded(["simplejson"])
    monkeypatch.setattr(simplejson.scanner, "c_make_scanner", None)
    with pytest.raises(UsageError, match="uses other code than"):
        assert_loaded(["simplejson"])


def test_what_the_user_has_set_is_kept_behind_and_an_earlier_start_is_not(native, monkeypatch):
    earlier = native("_json", address=True).env
    monkeypatch.setenv("LD_PRELOAD", f"/lib/own.so:{earlier['LD_PRELOAD']}")
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=1")
    monkeypatch.setenv("PYTHONPATH", "/own")
    env = native("_json").env
    names = [path.rpartition("/")[2] for path in env["LD_PRELOAD"].split(":")]
    assert names == ["ubsan_with_fuzzer.so", "relay.so", "own.so"]
    assert env["ASAN_OPTIONS"].endswith(":detect_leaks=1")
    assert env["PYTHONPATH"].endswith(":/own")


def test_versions_say_what_was_built(native):
    made = native("_json")
    assert set(made.versions) == {"_json", "clang"}
    assert made.names == ("_json",)


MUTATING = """
import sys, atheris, ujson
calls = [0, 0, 0]
def one(data):
    calls[0] += 1
    if calls[0] == 1000:
        print(*calls)
def mutate(data, most, seed):
    calls[1] += 1
    return atheris.Mutate(data, most)
def cross(one, two, most, seed):
    calls[2] += 1
    return (one + two)[:most]
atheris.Setup(sys.argv, one, **eval(sys.argv.pop(1)))
atheris.Fuzz()
"""


@pytest.mark.parametrize(
    ("given", "mutated", "crossed"),
    [
        ("dict(custom_mutator=mutate, custom_crossover=cross)", True, True),
        ("dict(custom_mutator=mutate)", True, False),
        ("{}", False, False),
    ],
)
def test_a_custom_mutator_is_called_by_the_preloaded_fuzzer(
    native, tmp_path, given, mutated, crossed
):
    target = tmp_path / "target.py"
    target.write_text(MUTATING)
    done = python(native("ujson").env, str(target), given, "-runs=1500")
    assert done.returncode == 0, done.stderr[-500:]
    runs, mutations, crossings = map(int, done.stdout.split())
    assert (runs, mutations > 100, crossings > 100) == (1000, mutated, crossed)


def test_a_fuzzer_that_would_ignore_custom_mutators_is_noticed(native):
    env = dict(native("_json").env)
    env["LD_PRELOAD"] = env["LD_PRELOAD"].partition(":")[0]
    assert "would never call a custom mutator" in asked(env, "_json")
