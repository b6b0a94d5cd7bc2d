"""``wirefence fuzz``: run one libFuzzer target in several processes with one corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from wirefence.fuzz.campaign.fuzz_report import as_json, as_table
from wirefence.fuzz.campaign.report import fan_out
from wirefence.fuzz.commands.options import (
    FORMAT,
    LONG,
    PATIENCE_OPTION,
    PLACE,
    TARGET,
    NonEmptyPath,
    Seconds,
    read_known_signatures,
    run_with_progress,
    write_report,
)
from wirefence.fuzz.coverage.checks import NAMES, make_check
from wirefence.fuzz.coverage.corpus import merge_corpora
from wirefence.fuzz.coverage.explore import FuzzRequest, run_fuzz_target
from wirefence.fuzz.coverage.run_target import MAX_SIZE
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.examination.events import Event, Finished, Found
from wirefence.fuzz.extras import require_extra
from wirefence.fuzz.native.build import prepare

__all__ = ["command"]


@click.command("fuzz")
@click.argument("name", metavar="TARGET", type=click.Choice(NAMES))
@click.option("--seconds", type=Seconds(1, LONG), default=60.0, show_default=True)
@click.option(
    "--workers", type=click.IntRange(1, 256), default=os.cpu_count, help="Number of processes."
)
@click.option(
    "--corpus",
    type=NonEmptyPath(path_type=Path, file_okay=False),
    help="Corpus to read and extend. Default: .wirefence/corpus/TARGET.",
)
@click.option(
    "--merge",
    "sources",
    multiple=True,
    type=NonEmptyPath(path_type=Path, exists=True, file_okay=False),
    help="Add inputs of this folder that give new coverage first; repeatable.",
)
@TARGET
@click.option("--seed", type=click.IntRange(1, (1 << 32) - 1), default=1, show_default=True)
@click.option("--native", is_flag=True, help="Use instrumented builds of the C parsers.")
@click.option(
    "--sanitizer", type=click.Choice(["none", "address"]), default="none", show_default=True
)
@click.option(
    "--out",
    type=PLACE,
    default=Path(".wirefence/findings"),
    show_default=True,
    help="Directory for findings.",
)
@PATIENCE_OPTION
@FORMAT
def command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    name: str,
    seconds: float,
    workers: int,
    corpus: Path | None,
    sources: tuple[Path, ...],
    targets: tuple[str, ...],
    seed: int,
    native: bool,
    sanitizer: str,
    out: Path,
    patience: float,
    form: str,
) -> int:
    """Run a coverage-guided libFuzzer target; exit 1 for new findings.

    TARGET is fuzz_parsers, fuzz_gateway, fuzz_session, fuzz_judge or fuzz_transcript. Each run
    continues from the corpus of the last one. --target limits which parsers or gateways get the
    inputs.
    """
    if sanitizer != "none" and not native:
        raise UsageError("--sanitizer works with native builds only", "add --native")
    require_extra("coverage", "wirefence fuzz")
    request = FuzzRequest(
        name=name,
        corpus=corpus or Path(".wirefence/corpus") / name,
        out=out,
        targets=targets,
        seconds=seconds,
        workers=workers,
        seed=seed,
        patience=patience,
        known=read_known_signatures(out),
        variables=_prepare_native(sanitizer) if native else {},
    )
    _warn_large_inputs(
        (request.corpus, *sources), MAX_SIZE[make_check(name, targets, lambda _: None).form]
    )
    if sources:
        click.echo(merge_corpora(request.make_job(0), sources).describe(), err=True)
    end, found = _run_fuzzing(request)
    if end.reason == "done" and not found and not any(each.executions for each in end.explored):
        raise UsageError(f"no input was run in {end.seconds:.0f} s", "give more --seconds")
    write_report((as_json if form == "json" else as_table)(end, found))
    return FOUND if found else NOTHING


def _warn_large_inputs(folders: Sequence[Path], most: int) -> None:
    """Say so where inputs are cut: libFuzzer reads ``most`` bytes of a file and is silent on it."""
    files = [path for folder in folders if folder.is_dir() for path in folder.rglob("*")]
    count = sum(path.is_file() and path.stat().st_size > most for path in files)
    if count:
        many, verb = ("1 input has", "is") if count == 1 else (f"{count:,} inputs have", "are")
        click.echo(
            f"wirefence: {many} more than {most:,} bytes and {verb} cut there; "
            "wirefence campaign --corpus runs them whole",
            err=True,
        )


def _prepare_native(sanitizer: str) -> Mapping[str, str]:
    """Return the environment in which instrumented parsers load. Raises UsageError if there are
    none.
    """
    native = prepare(address=sanitizer == "address")
    for name, why in native.missing.items():
        click.echo(f"wirefence: no instrumented {name}: {why}", err=True)
    click.echo(f"native: {', '.join(' '.join(each) for each in native.versions.items())}", err=True)
    return native.env


def _run_fuzzing(request: FuzzRequest) -> tuple[Finished, list[Found]]:
    found: list[Found] = []
    ends: list[Finished] = []

    def keep(event: Event) -> None:
        if isinstance(event, Found):
            found.append(event)
        elif isinstance(event, Finished):
            ends.append(event)

    run_with_progress(lambda listener: run_fuzz_target(request, fan_out(keep, listener)))
    return ends[0], found
