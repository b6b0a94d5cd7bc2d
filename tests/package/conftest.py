"""Fresh environments with a wheel of this checkout, and what its dependencies are.

The wheel is built once for all processes of a run, without a network. Dependencies are links to
those of the environment that runs the tests: one folder of links for each layer, which a ``.pth``
file adds. So an environment has what its layer has, and never the checkout.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
ALONE = ("-q", "--no-deps", "--no-index", "--no-build-isolation")


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Environment:
    """A virtual environment of a test."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        return self.folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"

    def command(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def add_dependencies(self, names: Iterable[str]) -> None:
        """Let the environment see the distributions ``names`` and what they need."""
        links = self.folder / "dependencies"
        links.mkdir()
        for distribution in closure(names):
            for file in distribution.files or ():
                target = Path(str(distribution.locate_file(file.parts[0])))
                link = links / file.parts[0]
                if file.parts[0] not in ("..", "__pycache__") and not link.exists():
                    link.symlink_to(target)
        (self.packages / "dependencies.pth").write_text(f"{links}\n", encoding="utf-8")
        start = Path(self.command("pytest"))
        start.write_text(f"#!{self.python}\nimport pytest\nraise SystemExit(pytest.main())\n")
        start.chmod(0o755)


def closure(names: Iterable[str]) -> list[metadata.Distribution]:
    """The distributions ``names`` and all that they need here."""
    waiting, found = [canonicalize_name(name) for name in names], dict[str, metadata.Distribution]()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # one without a wheel for this machine
            continue
        for line in found[name].requires or ():
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                waiting.append(canonicalize_name(need.name))
    return list(found.values())


def requirements(wheel: Path, extra: str = "") -> list[str]:
    """The names that a wheel requires, with its extra ``extra``."""
    (info,) = (each for each in zipfile.Path(wheel).iterdir() if each.name.endswith(".dist-info"))
    found: list[str] = []
    for need in map(Requirement, metadata.PathDistribution(info).requires or ()):
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            inner = need.extras if need.name == "wirefence" else ()
            found += [name for each in inner for name in requirements(wheel, each)]
            found += [need.name] if need.name != "wirefence" else []
    return found


def run_in(
    folder: Path, *words: str, stdin: str = "", variables: Mapping[str, str] | None = None
) -> Ran:
    """Run a command in ``folder``, without the paths of the environment that runs the tests."""
    ours = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "WIREFENCE")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**env, **(variables or {})},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "package"
    folder.mkdir(exist_ok=True)
    return folder


def make_once(place: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The folder ``name`` of this run, made by the first process that asks for it."""
    folder, done = place / name, place / f"{name}.done"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def must(folder: Path, *words: str) -> None:
    """Run a step of a set-up, which has to end well."""
    ran = run_in(folder, *words)
    assert ran.code == 0, ran.out + ran.err


@pytest.fixture(scope="session")
def wheel(place: Path) -> Path:
    """The wheel of this checkout."""

    def build(folder: Path) -> None:
        must(place, sys.executable, *PIP, "wheel", *ALONE, "-w", str(folder), str(ROOT))

    (path,) = make_once(place, "wheel", build).glob("wirefence-*.whl")
    return path


def make_environment(
    place: Path, name: str, dependencies: Iterable[str], *what: str
) -> Environment:
    """The environment ``name`` of this run: ``dependencies``, and ``what`` pip installs."""

    def make(folder: Path) -> None:
        venv.EnvBuilder(symlinks=True).create(folder)
        made = Environment(folder)
        made.add_dependencies(dependencies)
        if what:
            must(
                folder,
                sys.executable,
                *PIP,
                "--python",
                made.python,
                "install",
                "--no-compile",
                *ALONE,
                *what,
            )

    return Environment(make_once(place, name, make))


@pytest.fixture(scope="session")
def base(place: Path, wheel: Path) -> Environment:
    """The wheel as ``pip install wirefence`` has it, and pytest."""
    return make_environment(place, "base", [*requirements(wheel), "pytest"], str(wheel))


@pytest.fixture(scope="session")
def full(place: Path, wheel: Path) -> Environment:
    """The wheel as ``pip install 'wirefence[all]'`` has it, and pytest."""
    return make_environment(place, "full", [*requirements(wheel, "all"), "pytest"], str(wheel))


@pytest.fixture(scope="session")
def bare(place: Path, wheel: Path) -> Environment:
    """The dependencies of all extras, without Wirefence."""
    return make_environment(place, "bare", requirements(wheel, "all"))


@pytest.fixture(scope="session")
def editable(place: Path, wheel: Path) -> Environment:
    """The checkout as ``pip install --editable`` has it."""
    names = [*requirements(wheel), "hatchling", "editables"]
    return make_environment(place, "editable", names, "--editable", str(ROOT))
