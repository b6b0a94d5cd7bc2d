"""Pins are exact, complete, free of addresses, and agree with pyproject.toml on every Python."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wirefence.fuzz.extras import EXTRAS
from wirefence.targets.environments.specs import module_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = [
    text.rpartition(" ")[2]
    for text in PROJECT["project"]["classifiers"]
    if text.startswith("Programming Language :: Python :: 3.")
]
BASE = PROJECT["project"]["dependencies"]
EXTRA_LINES = PROJECT["project"]["optional-dependencies"]
DEVELOPMENT = PROJECT["dependency-groups"]["dev"]


def expanded(extra: str) -> list[str]:
    """The requirements of an extra, with those of the extras that it names."""
    found = []
    for line in EXTRA_LINES[extra]:
        requirement = Requirement(line)
        if requirement.name == "wirefence":
            found += [each for inner in requirement.extras for each in expanded(inner)]
        else:
            found.append(line)
    return found


RUNTIME = [*BASE, *expanded("all")]

RUNTIME_PINS = ("requirements.txt", "requirements-optional.txt")


def lines(name: str) -> Iterator[str]:
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def pins(*names: str, python: str) -> dict[str, str]:
    """Version by name of what a Linux x86-64 machine with this Python installs."""
    found: dict[str, str] = {}
    for line in (line for name in names for line in lines(name) if not line.startswith("-r ")):
        pin = Requirement(line)
        if applies(pin, python):
            key = canonicalize_name(pin.name)
            assert key not in found, f"{key} is pinned twice for Python {python}"
            found[key] = str(pin.specifier).removeprefix("==")
    return found


def applies(requirement: Requirement, python: str) -> bool:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "extra": "",
    }
    return requirement.marker is None or requirement.marker.evaluate(environment)


def unmet(requirements: list[str], pinned: dict[str, str], python: str) -> list[str]:
    """The requirements that no pin satisfies on this Python."""
    wanted = [r for r in map(Requirement, requirements) if applies(r, python)]
    return [
        str(r)
        for r in wanted
        if not r.specifier.contains(pinned.get(canonicalize_name(r.name), "0"), prereleases=True)
        or canonicalize_name(r.name) not in pinned
    ]


def unpinned_dependencies(pinned: dict[str, str], python: str) -> dict[str, list[str]]:
    """Packages that an installed, pinned package needs and that no pin satisfies."""
    needs = {}
    for name in pinned:
        try:
            requires = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:
            continue
        missing = unmet(requires, pinned, python)
        if missing:
            needs[name] = missing
    return needs


def test_every_line_is_an_exact_pin_and_development_builds_on_run_time():
    for line in (line for name in RUNTIME_PINS for line in lines(name)):
        assert str(Requirement(line).specifier).startswith("=="), line
    first, *rest = lines("requirements-dev.txt")
    assert first == "-r requirements.txt"
    for line in rest:
        assert str(Requirement(line).specifier).startswith("=="), line


@pytest.mark.parametrize("python", PYTHONS)
def test_the_pins_satisfy_pyproject(python):
    assert unmet(RUNTIME, pins(*RUNTIME_PINS, python=python), python) == []
    everything = pins(*RUNTIME_PINS, "requirements-dev.txt", python=python)
    assert unmet(DEVELOPMENT, everything, python) == []


@pytest.mark.parametrize("python", PYTHONS)
def test_dependencies_of_dependencies_are_pinned_too(python):
    assert unpinned_dependencies(pins(*RUNTIME_PINS, python=python), python) == {}
    everything = pins(*RUNTIME_PINS, "requirements-dev.txt", python=python)
    assert unpinned_dependencies(everything, python) == {}


def test_the_base_has_no_library_that_wirefence_tests():
    """A server under the gate may need another version of them."""
    pinned = pins(*RUNTIME_PINS, python="3.13")
    waiting = [Requirement(line).name for line in BASE]
    base: set[str] = set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        base.add(name)
        needs = map(Requirement, metadata.distribution(name).requires or [])
        waiting += [need.name for need in needs if applies(need, "3.13")]
    tested = {canonicalize_name(Requirement(line).name) for line in expanded("all")}
    assert base < pinned.keys()
    assert not base & tested


def test_all_is_every_extra():
    every = {line for extra in EXTRA_LINES for line in expanded(extra)}
    assert set(expanded("all")) == every


@pytest.mark.parametrize("extra", ["parsers", "coverage"])
def test_commands_look_for_the_modules_that_an_extra_brings(extra):
    names = {canonicalize_name(Requirement(line).name) for line in expanded(extra)}
    modules = {module_of(name) for name in names - {"pysimdjson"}}
    assert {*EXTRAS[extra]} == modules | {"pydantic_core"}  # pydantic needs it


def test_a_missing_or_unfit_pin_is_named():
    assert unmet(["rich>=13"], {}, "3.11") == ["rich>=13"]
    assert unmet(["rich"], {}, "3.11") == ["rich"]
    assert unmet(["rich>=13"], {"rich": "12.0"}, "3.11") == ["rich>=13"]
    assert unmet(["rich>=13; python_version < '3.12'"], {}, "3.12") == []
    assert "pytest" in unpinned_dependencies({"pytest": metadata.version("pytest")}, "3.11")


def test_ci_runs_every_python_that_pyproject_names():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = ", ".join(f'"{python}"' for python in PYTHONS)
    assert f"python: [{matrix}]" in workflow


def test_types_are_shipped_with_every_package():
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert (ROOT / package / "py.typed").is_file()
