"""What both sides agreed on before the first byte: version, profile, policy, tools, identity.

Data, not behaviour: the judge (``oracles/``) and the reference gateway (``targets/gateway/``) each
implement ``docs/contract.md`` on their own, from the same records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wirefence.strategies.records import Version

__all__ = ["DEFAULT_TOOLS", "UNREADABLE", "Argument", "Contract", "Policy", "Profile", "Tool"]

Profile = Literal["strict", "spec"]
Policy = Literal["close", "continue"]
ArgumentType = Literal["string", "integer", "number", "boolean", "array", "object", "any"]
UNREADABLE = "?"
"""In place of an input schema: any arguments may be taken or refused."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One tool argument. ``choices`` limits a string; items of an array are strings.

    Only an input schema says what one of type ``any`` may be.
    """

    name: str
    type: ArgumentType
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that acts. Its ``action`` argument is the nonce that an effect is traced by.

    The schemas are those that a server declares, as JSON text, ``""`` where it declares none. Where
    there is an ``input_schema``, it decides which arguments fit, and ``arguments`` names them.
    """

    name: str
    arguments: tuple[Argument, ...]
    operator_only: bool = False
    input_schema: str = ""
    output_schema: str = ""


_ACTION = Argument("action", "string", required=True)

DEFAULT_TOOLS: tuple[Tool, ...] = (
    Tool(
        "record",
        (
            _ACTION,
            Argument("note", "string"),
            Argument("count", "integer"),
            Argument("ratio", "number"),
            Argument("dry_run", "boolean"),
            Argument("tags", "array"),
            Argument("options", "object"),
        ),
    ),
    Tool(
        "http_call",
        (
            _ACTION,
            Argument("url", "string", required=True),
            Argument("method", "string", choices=("GET", "POST")),
        ),
    ),
    Tool(
        "ssh_run",
        (
            _ACTION,
            Argument("host", "string", required=True),
            Argument("command", "string", required=True),
        ),
    ),
    Tool(
        "write_file",
        (
            _ACTION,
            Argument("path", "string", required=True),
            Argument("content", "string", required=True),
        ),
    ),
    Tool("admin_reset", (_ACTION,), operator_only=True),
)


@dataclass(frozen=True, slots=True)
class Contract:
    """The terms of one session.

    ``served`` are the methods of requests that are answered; none where they are those of
    docs/contract.md.

    ``token`` is the secret that makes the caller of one request an operator; ``max_frame`` (bytes
    without LF) and ``max_depth`` (nested containers) are enforced by the strict profile only.
    """

    version: Version = "2025-11-25"
    profile: Profile = "strict"
    policy: Policy = "close"
    tools: tuple[Tool, ...] = DEFAULT_TOOLS
    token: str = "operator-secret-7f3a"  # noqa: S105 - a secret of tests, not of anyone
    max_frame: int = 1_048_576
    max_depth: int = 128
    served: frozenset[str] = frozenset()
