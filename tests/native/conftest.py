"""What tests of native builds share: one toolchain and one set of builds for the whole run.

Builds go where users' builds go, so that a second run of the tests makes none.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.native.processes import python
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.build import Native, make_environment, prepare
from wirefence.fuzz.native.toolchain import (
    Toolchain,
    compile_extension,
    compile_relay,
    find_toolchain,
)


@dataclass(frozen=True, slots=True)
class Broken:
    """The deliberately broken extension, built to be watched, and how to run Python with it."""

    env: Mapping[str, str]
    folder: Path

    def says(self, text: str) -> str:
        """What a process says that gives ``text`` to the broken parser."""
        return python(self.env, "-c", f"import overrun; overrun.loads({text!r})").stderr


def _tools(*, address: bool) -> Toolchain:
    try:
        return find_toolchain(address=address)
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def native() -> Callable[..., Native]:
    """``prepare``, or a skip with its sentence where this machine cannot build a library."""

    def ready(*names: str, address: bool = False) -> Native:
        _tools(address=address)
        try:
            made = prepare(names, address=address)
        except UsageError as error:
            pytest.skip(str(error))
        if made.missing:
            pytest.skip("; ".join(made.missing.values()))
        return made

    return ready


def _broken(folder: Path, *, address: bool) -> Broken:
    tools = _tools(address=address)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    compile_extension(tools, Path(__file__).with_name("overrun.c"), folder / f"overrun{suffix}")
    compile_relay(tools, folder / "relay.so")
    return Broken(make_environment(tools, [folder], folder / "relay.so"), folder)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Broken:
    return _broken(tmp_path_factory.mktemp("broken"), address=True)


@pytest.fixture(scope="session")
def unwatched(tmp_path_factory: pytest.TempPathFactory) -> Broken:
    return _broken(tmp_path_factory.mktemp("unwatched"), address=False)
