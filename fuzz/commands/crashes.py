"""``wirefence crashes``: list, show, add, commit, mark and prune reproducers."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import get_args

import click

from wirefence.fuzz.commands.options import FORMAT, PATIENCE_OPTION, PLACE, SOURCE, write_report
from wirefence.fuzz.crashes.add import AddOptions, add_classes, add_reproducer
from wirefence.fuzz.crashes.commit import (
    commit_reproducers,
    list_waiting,
    select_for_commit,
    write_index,
)
from wirefence.fuzz.crashes.git import Repository
from wirefence.fuzz.crashes.prune import prune_folders
from wirefence.fuzz.crashes.render import (
    as_json,
    as_list,
    format_entry,
    format_problem,
    shorten_text,
)
from wirefence.fuzz.crashes.rerun import targets_of
from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.extras import require_extra, require_for_targets
from wirefence.fuzz.store.metadata import Status
from wirefence.fuzz.store.scan import FINDINGS, GATE, REPRODUCERS, Entry, find_entries, scan_folder
from wirefence.fuzz.store.status import set_status
from wirefence.fuzz.store.store import Store, read_case
from wirefence.targets.command.records import Launch

__all__ = ["command"]

_STATUS = click.Choice(get_args(Status))
_FOLDER = click.option(
    "--folder",
    type=PLACE,
    default=REPRODUCERS,
    show_default=True,
    help="The directory of reproducers.",
)
_ON_FILE = click.option(
    "--folder",
    type=SOURCE,
    default=REPRODUCERS,
    show_default=True,
    help="The directory of reproducers.",
)
_WHERE = "The directory of findings."
_BRANCH = click.option("--branch", default="", help="Branch to commit to; created if absent.")


@click.group("crashes")
def command() -> None:
    """List, show, add, commit, mark and prune reproducers."""


@command.command("list")
@_ON_FILE
@FORMAT
def list_command(folder: Path, form: str) -> int:
    """List reproducers, and other files in their directory. Exit 1 for such problems."""
    shelf = scan_folder(folder)
    write_report(as_json(shelf) if form == "json" else as_list(shelf))
    return FOUND if shelf.problems else NOTHING


@command.command("show")
@click.argument("names", nargs=-1, required=True, metavar="FILE|ID...")
@_ON_FILE
def show_command(names: tuple[str, ...], folder: Path) -> int:
    """Show the bytes and metadata of reproducers or findings; long values are cut."""
    write_report(
        "\n".join(format_entry(entry) for entry in find_entries(names, (folder, FINDINGS, GATE)))
    )
    return NOTHING


@command.command("add", context_settings={"ignore_unknown_options": False})
@click.argument("file", type=PLACE, required=False)
@click.argument("launch", nargs=-1, metavar="[-- COMMAND...]")
@click.option("--target", default="", help="Target that shows it; 'parsers': all parsers.")
@click.option("--sides", nargs=2, metavar="OLD NEW", help="Two parsers that differ on it.")
@click.option("--python", default="", help="Interpreter of both sides, as in wirefence compare.")
@click.option("--signature", default="", help="Only findings whose signature contains this.")
@click.option("--status", type=_STATUS, default="open", show_default=True)
@click.option("--note", default="", help="A sentence for the reader.")
@click.option(
    "--version", "versions", multiple=True, metavar="NAME=VERSION", help="Version of a server."
)
@click.option("--classes", is_flag=True, help="Store one for each known divergence of the parsers.")
@click.option("--minimize/--as-it-is", "smaller", default=True, show_default=True)
@click.option("--commit", "and_commit", is_flag=True, help="Commit the new reproducers.")
@_BRANCH
@_FOLDER
@PATIENCE_OPTION
def add_command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    file: Path | None,
    launch: tuple[str, ...],
    target: str,
    sides: tuple[str, str] | None,
    python: str,
    signature: str,
    status: Status,
    note: str,
    versions: tuple[str, ...],
    classes: bool,
    smaller: bool,
    and_commit: bool,
    branch: str,
    folder: Path,
    patience: float,
) -> int:
    """Run FILE against a target and store what it shows as a minimized reproducer.

    The target is --target, the COMMAND of a server, or two --sides. A known signature is refused.
    """
    if (file is None) != classes:
        raise click.UsageError("give FILE or --classes")
    with redirect_stdout(sys.stderr):
        if file is None:
            require_extra("parsers", "--classes")
            added = add_classes(Store(folder))
        else:
            if not (launch or sides):
                require_for_targets([target])
            wanted = AddOptions(
                target,
                signature,
                status,
                note,
                smaller=smaller,
                patience=patience,
                versions=dict(_parse_version(each) for each in versions),
                sides=sides or (),
                python=python,
            )
            added = add_reproducer(
                read_case(file), Launch(launch) if launch else None, wanted, Store(folder)
            )
    for each in added.refused:
        write_report(f"refused  {shorten_text(each, 400)}")
    for entry in added.entries:
        signature, path = shorten_text(entry.metadata.signature), shorten_text(str(entry.path))
        write_report(f"added  {entry.id}  {signature}  {path}")
    if and_commit and added.entries:
        return _commit_entries(list(added.entries), folder, branch)
    write_index(folder)
    return FOUND if added.refused else NOTHING


def _parse_version(text: str) -> tuple[str, str]:
    name, equals, version = text.partition("=")
    if not (name and equals and version):
        raise UsageError(f"{text!r} is not NAME=VERSION", "write for example --version server=1.2")
    return name, version


@command.command("commit")
@click.argument("names", nargs=-1, metavar="[FILE|ID]...")
@click.option("--from", "source", type=SOURCE, default=FINDINGS, show_default=True, help=_WHERE)
@click.option("--each", is_flag=True, help="Also commit further symptoms of a known fault.")
@click.option("--message", "-m", default="", help="Default: names the findings.")
@_BRANCH
@_FOLDER
@PATIENCE_OPTION
def commit_command(  # noqa: PLR0913, PLR0917 - click passes one for each option
    names: tuple[str, ...],
    source: Path,
    each: bool,
    message: str,
    branch: str,
    folder: Path,
    patience: float,
) -> int:
    """Copy findings to the directory of reproducers and make one git commit of them.

    Default: all findings in --from. Minimize them first. A finding is refused (exit 1) if its
    signature is known, if it is another symptom of a known fault, or if a fresh process does not
    reproduce it. A finding of a fixed fault that returned is accepted. Staged changes in the index
    are refused (exit 2). Never pushes.
    """
    # Refuse before the work, not after it.
    Repository.find(folder).refuse_dirty_index()
    shelf = scan_folder(source, findings=True)
    for odd in shelf.problems:
        click.echo(format_problem(odd), err=True)
    entries = find_entries(names, (source,)) if names else list(shelf.entries)
    require_for_targets(targets_of(entries))
    click.echo(f"trying {len(entries)} findings in fresh processes", err=True)
    with redirect_stdout(sys.stderr):
        known = [*scan_folder(folder).entries, *list_waiting(folder, branch)]
        good, refused = select_for_commit(entries, known, each=each, patience=patience)
    for refusal in refused:
        write_report(f"refused  {refusal.entry.id}  {shorten_text(refusal.why, 400)}")
    if good:
        _commit_entries(good, folder, branch, message)
    elif not refused:
        write_report(f"There is nothing to commit below {shorten_text(str(source))}.")
    return FOUND if refused else NOTHING


def _commit_entries(entries: list[Entry], folder: Path, branch: str, message: str = "") -> int:
    made = commit_reproducers(entries, folder, branch=branch, message=message)
    write_report(
        f"committed  {made[:12]}  {len(entries)} reproducers{f' on {branch}' if branch else ''}"
    )
    return NOTHING


@command.command("mark")
@click.argument("name", metavar="FILE|ID")
@click.argument("status", type=_STATUS)
@_ON_FILE
def mark_command(name: str, status: Status, folder: Path) -> int:
    """Change the status of a reproducer: open, fixed, or upstream."""
    (entry,) = find_entries([name], (folder,))
    marked = set_status(entry, status)
    write_index(folder)
    write_report(f"{marked.id}  {entry.metadata.status} -> {status}")
    return NOTHING


@command.command("prune")
@click.option("--write", "really", is_flag=True, help="Remove the files. Default: only list them.")
@click.option("--findings", type=SOURCE, default=FINDINGS, show_default=True, help=_WHERE)
@_ON_FILE
def prune_command(really: bool, findings: Path, folder: Path) -> int:
    """Remove redundant files: leftovers of killed runs, and findings that are reproducers already.

    Only bytes that are also kept elsewhere are removed. Exit 1 for problems that remain.
    """
    done = prune_folders(folder, findings, really=really)
    write_report("\n".join(done.lines) or "Nothing is redundant.")
    for each in done.left:
        write_report(format_problem(each))
    return FOUND if done.left else NOTHING
