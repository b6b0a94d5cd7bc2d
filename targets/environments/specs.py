"""What people write for a side, taken apart.

Everything a side can be made of comes down to three questions: which interpreter,
what is to be installed into it, and which module of it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wirefence.targets.errors import TargetError

__all__ = ["Spec", "module_of", "normalize_name", "parse_spec"]

Source = Literal["standard", "index", "path", "node"]

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE = r"(?:===?|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_REQUIREMENT = re.compile(rf"({_NAME})\s*((?:{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)?)")
_OPTION = re.compile(r"\[([^\[\]]*)\]")
_PINNED = re.compile(r"===?\s*([^\s*,=]+)")
_FORMS = "write NAME, NAME==VERSION, a wheel, a directory, python:3.13 or node"
_NICKNAMES = {"rapidjson": "python-rapidjson", "simdjson": "pysimdjson"}
_MODULES = {"python-rapidjson": "rapidjson", "pysimdjson": "simdjson"}


@dataclass(frozen=True, slots=True)
class Spec:
    """One side as asked for.

    ``source`` says where the library comes from; ``name`` is its distribution's, normalized, and
    empty for a path until it is installed; ``wanted`` is a version specifier or a path; ``python``
    an interpreter where the specification names one; ``option`` one reader of the library.
    """

    source: Source
    name: str = ""
    wanted: str = ""
    python: str = ""
    option: str = ""

    @property
    def pinned(self) -> str:
        """The one version that is asked for, or ``""``."""
        found = _PINNED.fullmatch(self.wanted)
        return found.group(1) if found and self.source == "index" else ""


def parse_spec(text: str) -> Spec:
    """Take a specification apart. Raises TargetError for one that is none."""
    text = text.strip()
    option = ""
    if not Path(text).exists():
        found = _OPTION.search(text)
        option = found.group(1).strip() if found else ""
        text = _OPTION.sub("", text, count=1).strip()
    if text == "node":
        return Spec("node", option=option)
    if text == "json":
        return Spec("standard", option=option)
    if text.startswith("python:"):
        return Spec("standard", python=text.removeprefix("python:"), option=option)
    if _looks_like_a_path(text):
        return _parse_local(text, option)
    found = _REQUIREMENT.fullmatch(text)
    if found is None:
        raise TargetError(f"{text!r} is no library to compare", _FORMS)
    name = normalize_name(found.group(1))
    if name == "json":
        raise TargetError(
            "json comes with Python and has no versions of its own", "use python:3.13"
        )
    return Spec("index", _NICKNAMES.get(name, name), found.group(2), option=option)


def _looks_like_a_path(text: str) -> bool:
    return text.endswith(".whl") or "/" in text or text in (".", "..") or text.startswith("~")


def _parse_local(text: str, option: str) -> Spec:
    path = Path(text).expanduser()
    if not path.exists():
        raise TargetError(f"there is no {text}", "check the path of the wheel or directory")
    if not path.is_dir() and path.suffix != ".whl":
        raise TargetError(f"{text} is neither a wheel nor a directory", _FORMS)
    if path.is_dir() and not any((path / n).is_file() for n in ("pyproject.toml", "setup.py")):
        raise TargetError(
            f"{text} has neither pyproject.toml nor setup.py", "give the directory of a project"
        )
    return Spec("path", wanted=str(path.resolve()), option=option)


def normalize_name(name: str) -> str:
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def module_of(name: str) -> str:
    """The module by which a distribution is imported."""
    return _MODULES.get(name, name.replace("-", "_"))
