"""``wirefence quirks``: probe the quirks of the installed parsers."""

from __future__ import annotations

import click

from wirefence.fuzz.errors import FOUND, NOTHING, UsageError
from wirefence.fuzz.examination.installed_quirks import other_versions, stored_quirks
from wirefence.fuzz.examination.quirk_probe import probe_quirks
from wirefence.fuzz.extras import require_extra
from wirefence.fuzz.store.atomic_write import write_atomically
from wirefence.oracles import quirks

__all__ = ["command"]


@click.command("quirks")
@click.option("--write", is_flag=True, help="Store the probed quirks.")
def command(*, write: bool) -> int:
    """Probe the quirks of the installed parsers and compare them with the stored ones."""
    require_extra("parsers", "wirefence quirks")
    probed = probe_quirks()
    if write:
        try:
            write_atomically(quirks.QUIRKS_FILE, quirks.dump_quirks(probed).encode())
        except OSError as error:
            raise UsageError(
                f"cannot write to {quirks.QUIRKS_FILE}: {error.strerror}", "change its permissions"
            ) from error
        click.echo(f"wrote {sum(map(len, probed.known.values()))} quirks")
        return NOTHING
    stored = stored_quirks()
    lines = quirks.list_differences(stored, probed)
    if other := other_versions(stored):
        click.echo(f"No quirks are stored for {', '.join(other)}; compared with the nearest.")
    click.echo("\n".join(lines) or "The installed parsers show exactly the stored quirks.")
    return FOUND if lines else NOTHING
