"""The reference gateway as a stdio server: ``python -m wirefence.targets.gateway``.

Only the gateway may write to stdout. The descriptor is moved away before anything
else runs, and what prints to descriptor 1 after that, whoever it is, ends up on stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import get_args

from wirefence.strategies.contract import Contract, Policy, Profile
from wirefence.strategies.records import VERSIONS
from wirefence.targets.gateway.journal import Entry, Journal
from wirefence.targets.gateway.session import ReferenceGateway

__all__ = ["main"]

_CHUNK = 65_536
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one session on descriptors 0 and 1; return the exit code."""
    contract = _contract(arguments)
    out = _claim_stdout()

    def note(entry: Entry) -> None:
        said = {each.name: getattr(entry, each.name) for each in fields(entry)}
        _log(type(entry).__name__.lower(), **said)

    gateway = ReferenceGateway(_act, contract, journal=Journal(listen=note))
    _log("open", version=contract.version, profile=contract.profile, policy=contract.policy)
    try:
        for data in _chunks():
            _write(out, gateway.feed(data))
        _write(out, gateway.eof())
    except BrokenPipeError:
        _log("stdout closed by the client")
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _contract(arguments: Sequence[str] | None) -> Contract:
    parser = argparse.ArgumentParser(
        prog="python -m wirefence.targets.gateway", description="MCP over stdio"
    )
    parser.add_argument("--version", choices=VERSIONS, default="2025-11-25")
    parser.add_argument("--profile", choices=get_args(Profile), default="strict")
    parser.add_argument("--policy", choices=get_args(Policy), default="close")
    return Contract(**vars(parser.parse_args(arguments)))


def _claim_stdout() -> int:
    """Return a private descriptor for stdout and point descriptor 1 at stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def _log(event: str, **members: object) -> None:
    """Write one event as a line of JSON to stderr."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    content = {**members, "event": event, "level": "info", "timestamp": now}
    print(json.dumps(content, default=repr), file=sys.stderr, flush=True)  # noqa: T201 - it is the log


def _act(_tool: str, _arguments: Mapping[str, object]) -> None:
    """Execute nothing: the journal has noted the call."""


def _chunks() -> Iterator[bytes]:
    """Read stdin as it comes, to its end; a closed session drains it too."""
    while data := os.read(0, _CHUNK):
        yield data


def _write(out: int, data: bytes) -> None:
    while data:
        data = data[os.write(out, data) :]


if __name__ == "__main__":
    sys.exit(main())
