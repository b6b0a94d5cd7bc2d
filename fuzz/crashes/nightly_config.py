"""Read the configuration of the nightly round from ``wirefence.toml``.

An unknown key is an error: a misspelled budget would silently have its default.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.examination.plan import DEFAULT_TARGETS
from wirefence.fuzz.store.typed_records import Bounds, read_record
from wirefence.strategies.contract import Profile
from wirefence.strategies.records import VERSIONS, Version

__all__ = ["NightlyConfig", "load_config"]

Positive = Annotated[float, Bounds(above=0, most=1e6)]
Count = Annotated[int, Bounds(least=1, most=256)]
Place = Annotated[str, Bounds(pattern=r"^[^\x00]+$")]


@dataclass(frozen=True, slots=True)
class NightlyConfig:
    """The table ``[nightly]``: each key with its default.

    ``seconds`` is the budget of the campaign, ``minimize_seconds`` that of each new finding.
    ``seed`` is an integer, ``date`` (another one each day) or ``random``. ``work`` holds findings
    and corpora between rounds, ``corpus`` names more folders of inputs; what the rounds collect is
    kept below ``corpus_megabytes``. ``branch`` is where new reproducers are committed; empty for no
    commit.
    """

    KEBAB: ClassVar = True

    targets: Annotated[tuple[str, ...], Bounds(min_length=1)] = DEFAULT_TARGETS
    profile: Profile = "strict"
    versions: Annotated[tuple[Version, ...], Bounds(min_length=1)] = VERSIONS
    seconds: Positive = 600.0
    minimize_seconds: Positive = 30.0
    patience: Positive = 60.0
    workers: Count = 2
    seed: int | Literal["date", "random"] = "date"
    reproducers: Place = "crashes"
    work: Place = ".wirefence"
    corpus: tuple[Place, ...] = ()
    corpus_megabytes: Positive = 200.0
    branch: Annotated[str, Bounds(pattern=r"^[^\x00]*$")] = ""


def load_config(path: Path) -> NightlyConfig:
    """Read the table ``[nightly]`` of a TOML file. Raises UsageError that names the key."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", "name it with --config"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}", "repair it") from error
    if "nightly" not in content:
        found = ", ".join(content) or "none"
        raise UsageError(f"{path} has no table [nightly] (tables: {found})", "add one")
    try:
        return read_record(content["nightly"], NightlyConfig)
    except ValueError as error:
        said = str(error).replace("`$.", "`nightly.").replace("`$`", "`nightly`")
        raise UsageError(f"{path}: {said}", "see docs/crashes.md for the keys") from error
