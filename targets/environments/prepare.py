"""From what the user wrote to a side that has said hello.

A side is started once before anything is compared, so whatever cannot run is
known, with its reason, before the first input.
"""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from pathlib import Path

from wirefence.targets.environments.cache import get_environment
from wirefence.targets.environments.interpreters import Interpreter, find_interpreter
from wirefence.targets.environments.process import Worker
from wirefence.targets.environments.sides import DEFAULT, Program, Side
from wirefence.targets.environments.specs import Spec, module_of, parse_spec
from wirefence.targets.errors import TargetError

__all__ = ["prepare_side"]

_WORKER = str(Path(__file__).with_name("worker.py"))
_NODE_WORKER = str(Path(__file__).with_name("worker.js"))


def prepare_side(spec: str, *, python: str | None = None, cache: Path | None = None) -> Side:
    """Make one side ready to work.

    ``spec`` is ``orjson==3.9.14``; ``orjson`` (what is installed beside us, else the latest);
    ``json``; ``python:3.13`` (that interpreter's json); a wheel; a directory; ``node``. An option
    in brackets keeps one reader: ``simplejson[pure]==3.19.1``. ``python`` names the interpreter of
    what names none itself; ``cache`` is the folder of environments.

    Raises TargetError where there is no such thing, or it cannot be installed or started.
    """
    asked = parse_spec(spec)
    if asked.source == "node":
        return _make_side(spec, _prepare_node(asked.option), {})
    interpreter = find_interpreter(asked.python or python)
    if asked.source == "standard":
        command = (interpreter.executable, "-I", "-S", _WORKER)
        return _make_side(spec, Program(command, "json", "", asked.option), {})
    if _installed_here(asked, interpreter):
        return _prepare_installed(
            spec, sys.executable, asked.name, asked.option, "none: it was here"
        )
    made = get_environment(asked, interpreter, cache)
    return _prepare_installed(spec, made.python, made.library, asked.option, made.installer)


def _prepare_installed(spec: str, python: str, name: str, option: str, installer: str) -> Side:
    program = Program((python, "-I", _WORKER), module_of(name), name, option)
    return _make_side(spec, program, {"installer": installer})


def _prepare_node(option: str) -> Program:
    node = shutil.which("node")
    if node is None:
        raise TargetError("there is no node on PATH", "install Node.js, or leave this side out")
    heap = DEFAULT.memory // 1_048_576
    command = (node, f"--max-old-space-size={heap}", _NODE_WORKER)
    return Program(command, "JSON", "", option)


def _installed_here(asked: Spec, interpreter: Interpreter) -> bool:
    """Whether a library that is asked for without a version lies beside us."""
    if asked.source != "index" or asked.wanted or interpreter.executable != sys.executable:
        return False
    try:
        return bool(metadata.version(asked.name))
    except metadata.PackageNotFoundError:
        return False


def _make_side(name: str, program: Program, extra: dict[str, str]) -> Side:
    worker = Worker(program, DEFAULT)
    worker.close()
    facts = worker.facts
    runtime = f"{facts.implementation} {facts.version}"
    versions = {facts.implementation: facts.version, facts.library: facts.library_version, **extra}
    label = f"{facts.library} {facts.library_version} on {runtime}"
    return Side(name, runtime if facts.library == "JSON" else label, program, facts, versions)
