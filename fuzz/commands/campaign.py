"""``wirefence campaign``: run many cases, and report new findings."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from wirefence.fuzz.campaign.campaign import Budget, run_campaign
from wirefence.fuzz.campaign.report import as_json, as_table, fan_out
from wirefence.fuzz.commands.options import (
    FORMAT,
    GLOSSARY,
    LONG,
    PATIENCE_OPTION,
    PLACE,
    TARGET,
    Seconds,
    read_known_signatures,
    run_with_progress,
    write_report,
)
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.examination.cases import read_corpus
from wirefence.fuzz.examination.events import Event, Finished, Found
from wirefence.fuzz.examination.hypothesis_cases import hypothesis_cases
from wirefence.fuzz.examination.installed_quirks import (
    changed_parsers,
    installed_quirks,
    stored_quirks,
)
from wirefence.fuzz.examination.plan import DEFAULT_TARGETS, Plan
from wirefence.fuzz.extras import require_for_targets
from wirefence.fuzz.store.scan import REPRODUCERS
from wirefence.fuzz.store.store import read_case
from wirefence.strategies.records import Case

__all__ = ["command"]

_HYPOTHESIS_CASES = 100
"""Cases; generating them takes about two seconds at the start of a campaign."""


@click.command("campaign", epilog=GLOSSARY)
@click.option("--seconds", type=Seconds(most=LONG), help="Time budget. Default: 60.")
@click.option(
    "--cases",
    type=click.IntRange(min=1),
    help="Number of cases to generate, after the given cases.",
)
@click.option("--seed", default="0", show_default=True, help="An integer, or 'random'.")
@TARGET
@click.option(
    "--corpus",
    "folders",
    multiple=True,
    type=PLACE,
    help="Your own inputs: a file or a folder; repeatable.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), default=os.cpu_count, help="Number of processes."
)
@PATIENCE_OPTION
@click.option(
    "--out",
    type=PLACE,
    default=Path(".wirefence/findings"),
    show_default=True,
    help="Directory for findings.",
)
@FORMAT
def command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    seconds: float | None,
    cases: int | None,
    seed: str,
    targets: tuple[str, ...],
    folders: tuple[Path, ...],
    workers: int,
    patience: float,
    out: Path,
    form: str,
) -> int:
    """Run generated cases against parsers and gateways; exit 1 for new findings.

    Given cases run first: committed reproducers, the --corpus, and 100 cases from Hypothesis.
    Generated cases follow until --seconds or --cases is reached; --cases counts only those.
    """
    budget = _make_budget(seconds, cases, workers, patience)
    plan = Plan(targets or DEFAULT_TARGETS, _parse_seed(seed))
    require_for_targets(plan.targets)
    if "parsers" in plan.targets:
        _report_changed_parsers()
    given, known = _read_given_cases(folders, plan.seed), read_known_signatures(out)
    found: list[Found] = []
    ends: list[Finished] = []

    def keep(event: Event) -> None:
        if isinstance(event, Found):
            found.append(event)
        elif isinstance(event, Finished):
            ends.append(event)

    run_with_progress(
        lambda listener: run_campaign(
            plan, budget, out, fan_out(keep, listener), given=given, known=known
        )
    )
    write_report((as_json if form == "json" else as_table)(ends[0], found))
    return FOUND if found else NOTHING


def _make_budget(seconds: float | None, cases: int | None, workers: int, patience: float) -> Budget:
    if seconds is not None and cases is not None:
        raise UsageError("--seconds and --cases were both given", "give one of them")
    default = 60.0 if cases is None else None
    return Budget(default if seconds is None else seconds, cases, workers, patience)


def _report_changed_parsers() -> None:
    """Print which parsers have other quirks here than the stored ones."""
    changed = changed_parsers(stored_quirks(), installed_quirks())
    if changed:
        click.echo(
            f"wirefence: these parsers differ from the stored quirks: {', '.join(changed)}; "
            "see wirefence quirks",
            err=True,
        )


def _parse_seed(text: str) -> int:
    if text == "random":
        return secrets.randbits(32)
    try:
        return int(text) % (1 << 64)
    except ValueError:
        raise UsageError(f"{text!r} is not a seed", "give an integer or 'random'") from None


def _read_given_cases(folders: tuple[Path, ...], seed: int) -> list[Case]:
    """Return the cases that run before generated ones, committed crashes first."""
    crashes = [read_case(path) for path in sorted(REPRODUCERS.glob("*/*.frame"))]
    return [*crashes, *read_corpus(folders), *hypothesis_cases(seed, _HYPOTHESIS_CASES)]
