"""``python -m wirefence.fuzz.native``: build and measure instrumented copies of parsers."""

from __future__ import annotations

import shlex
import sys

import click

from wirefence.fuzz.errors import NOTHING, USAGE, UsageError
from wirefence.fuzz.native.build import prepare
from wirefence.fuzz.native.libraries import NAMES
from wirefence.fuzz.native.measure import measure_libraries

__all__ = ["command"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[LIBRARY]...")
@click.option("--address", is_flag=True, help="Let AddressSanitizer watch memory.")
@click.option("--env", "exports", is_flag=True, help="Print the environment for a shell, no more.")
@click.option("--seconds", default=5, show_default=True, help="Time to fuzz each; 0: build only.")
def command(names: tuple[str, ...], seconds: int, *, address: bool, exports: bool) -> None:
    """Build instrumented copies of parsers (default: all) and measure what the fuzzer sees."""
    native = prepare(names or NAMES, address=address)
    for sentence in native.missing.values():
        click.echo(f"wirefence: {sentence}", err=True)
    if exports:
        for variable, value in native.env.items():
            click.echo(f"export {variable}={shlex.quote(value)}")
        return
    click.echo(f"compiler    {native.versions['clang']}")
    for name, folder in native.folders.items():
        click.echo(f"{name:11} {native.versions[name]}  {folder}")
    if seconds > 0:
        for one in measure_libraries(native, seconds=seconds):
            click.echo(f"{one.name:11} {one.edges:6,} edges {one.rate:10,} execs per CPU second")


def _main() -> int:
    try:
        command.main(standalone_mode=False)
    except UsageError as error:
        click.echo(f"wirefence: {error}", err=True)
        return USAGE
    except click.ClickException as error:
        click.echo(f"wirefence: {error.format_message()}; see --help", err=True)
        return USAGE
    return NOTHING


if __name__ == "__main__":
    sys.exit(_main())
