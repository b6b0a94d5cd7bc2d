"""An installation puts one package into an environment, and leaves every other name alone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Environment, run_in

FOLDERS = ("fuzz", "oracles", "strategies", "targets")


def test_the_wheel_holds_one_package_and_its_metadata(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    (info,) = {name for each in names if (name := each.split("/")[0]).endswith(".dist-info")}
    assert {name.split("/")[0] for name in names} == {"wirefence", info}
    inside = {name.split("/")[1] for name in names if name.startswith("wirefence/")}
    assert inside == {"__init__.py", "__main__.py", "py.typed", *FOLDERS}


def test_an_installation_adds_nothing_beside_the_package(base: Environment) -> None:
    added = {path.name for path in base.packages.iterdir()} - {"dependencies.pth"}
    assert {name for name in added if not name.endswith(".dist-info")} == {"wirefence"}
    assert len(added) == 2


@pytest.mark.parametrize("kind", ["base", "editable"])
def test_the_names_of_our_folders_stay_free(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    environment: Environment = request.getfixturevalue(kind)
    code = "import importlib.util as u, sys, wirefence; print(wirefence.__file__)\n"
    code += f"print(*(name for name in {(*FOLDERS, 'tests', 'scripts')} if u.find_spec(name)))"
    ran = run_in(tmp_path, environment.python, "-c", code)
    place, found = ran.out.split("\n")[:2]
    root = environment.packages if kind == "base" else ROOT / "src"
    assert Path(place) == root / "wirefence" / "__init__.py"
    assert found == ""
    assert run_in(tmp_path, environment.command("wirefence"), "--version").code == 0
