"""Discover a server: its name, versions and tools, learned in good sessions before any trial.

A server that cannot be talked to is no finding but a failed launch, and each way of failing has an
error message of its own. A server may write anything: replies are used only where their types are
right, and quoted text is redacted.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.gate.records import Facts, NominatedTool, Options
from wirefence.fuzz.gate.server.declared_tools import choose_tool, declare_tool
from wirefence.fuzz.gate.server.fresh import FreshServers, RecordedServer
from wirefence.fuzz.gate.server.server_name import name_server
from wirefence.fuzz.gate.trials.messages import (
    INITIALIZED,
    TrialNames,
    make_initialize,
    make_listing,
    make_ping,
    tokens_in,
)
from wirefence.fuzz.store.redaction import Redactor
from wirefence.fuzz.text import last_words
from wirefence.oracles.promises import list_promised
from wirefence.oracles.protocol import list_methods
from wirefence.strategies.contract import Policy, Tool
from wirefence.strategies.records import VERSIONS, Version
from wirefence.targets.command.memory import cpu_of_group
from wirefence.targets.errors import TargetError

__all__ = ["discover_server"]

_NEWEST_STATEFUL: Version = "2025-11-25"
_STATELESS: Version = "2026-07-28"
_MOST_PAGES = 20
"""Pages of tools/list that are read: ends the loop for a server that always gives a cursor."""
_CALLED = frozenset({"initialize", "ping", "server/discover", "tools/list", "tools/call"})
"""What the gate sends whether it is promised or not."""
_TYPE_NAMES = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
_MOST_QUOTED = 200
"""Characters of a server's text that a sentence quotes."""
_MOST_SHOWN, _REDACTED_BYTES = 80, 1 << 16
"""Bytes of stdout that are shown, and bytes in which secrets are redacted before the cut."""


@dataclass(slots=True)
class _Conversation:
    """A conversation with one server: send a request, return the whole reply as Python objects."""

    watched: RecordedServer
    servers: FreshServers
    start_patience: float
    number: int = 0

    def send_request(self, raw: bytes, ident: bytes, patience: float) -> dict[str, Any] | None:
        """Return the reply to a request; ``None`` where none came in time.

        Raises TargetError for a command that sends requests itself.
        """
        session = self.watched.session
        session.send(raw)
        wanted = ident.strip(b'"')

        def done() -> bool:
            session.collect()
            return wanted in session.answered or self._is_client()

        answered = session.process.pump_until(done, patience)
        if self._is_client():
            raise TargetError(
                "the command is a client: it sends requests and answers none",
                "put --client before the command",
            )
        if not answered:
            return None
        name = wanted.decode()
        return next(
            (each for each in map(_parse_object, session.lines) if each.get("id") == name), None
        )

    def _is_client(self) -> bool:
        """Whether the command opens a session itself, as only clients do; an echo has our ids."""
        first = next(map(_parse_object, self.watched.session.lines), {})
        name = first.get("id")
        ours = isinstance(name, str) and bool(tokens_in(name.encode("utf-8", "replace")))
        opens = first.get("method") in ("initialize", "server/discover")
        return opens and name is not None and not ours

    def make_names(self) -> TrialNames:
        self.number += 1
        return TrialNames(self.number)

    def quote_text(self, text: str) -> str:
        """Return text of the server for a sentence: short and redacted."""
        return Redactor.for_launch(self.servers.launch).redact_and_shorten(text, _MOST_QUOTED)

    def quote_stdout(self) -> str:
        """Return the beginning of stdout as a literal; ``""`` where there is none."""
        data = bytes(self.watched.session.process.stdout.data[:_REDACTED_BYTES])
        shown = Redactor.for_launch(self.servers.launch).redact_bytes(data)[:_MOST_SHOWN]
        return repr(shown) if shown else ""


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_int=float)  # an integer may be too long for Python to read
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def discover_server(servers: FreshServers, within: float = math.inf) -> Facts:
    """Talk to a fresh server, then probe what it does after a bad frame.

    ``within`` bounds the time-out of its start in seconds, but to no less than that of a reply.
    Raises TargetError where the launch fails, UsageError for an option that does not fit the server
    (a tool that it lacks, a version that it does not speak).
    """
    options = servers.options
    began = time.monotonic()
    watched = servers.take_server()
    try:
        talk = _Conversation(
            watched, servers, min(options.start_patience, max(within, options.patience))
        )
        version, hello = _open_session(talk, options)
        startup = time.monotonic() - began
        computed = cpu_of_group(watched.session.process.pid)
        versions = _list_versions(version, hello)
        tools = _list_tools(talk, version, options.patience)
        nominee = options.nominee or choose_tool(tools)
        name = talk.quote_text(_as_text(_server_info(hello).get("name")))
        facts = Facts(
            options.label or name_server(servers.launch, name),
            name,
            talk.quote_text(_as_text(_server_info(hello).get("version"))),
            version,
            versions,
            tuple(each["name"] for each in tools),
            nominee,
            _declare_nominee(tools, nominee),
            options.policy or "continue",
            startup,
            watched.session.process.measure(),
            computed,
            _list_requests(version, hello),
        )
        watched.recording.take()
        servers.note_recorders(watched)
        return facts if options.policy else replace(facts, policy=_probe_policy(talk, facts))
    finally:
        watched.stop()


def _open_session(talk: _Conversation, options: Options) -> tuple[Version, Mapping[str, Any]]:
    """Open the session in the requested version, or in the newest that the server speaks."""
    names = talk.make_names()
    if options.protocol == _STATELESS:
        return _STATELESS, _request_discovery(talk, options)
    asked = options.protocol or _NEWEST_STATEFUL
    raw = make_initialize(json.dumps(asked).encode(), names.request_id("h")).raw
    reply = talk.send_request(raw, names.request_id("h"), talk.start_patience)
    if reply is None:
        raise _explain_silence(talk, options)
    if "result" not in reply:
        refused = f"the server refused initialize ({_quote_error(talk, reply)})"
        if options.protocol is None:
            return _STATELESS, _request_discovery(talk, options, f"{refused}; ")
        raise TargetError(refused, "try another --protocol")
    result = _require_result(reply, "initialize")
    version = _find_version(result.get("protocolVersion"))
    if version is None:
        spoken = _as_text(result.get("protocolVersion"))
        problem = (
            f"speaks {talk.quote_text(spoken)!r}" if spoken else "sends no protocolVersion string"
        )
        raise TargetError(
            f"the server {problem}", f"known versions of MCP are {', '.join(VERSIONS)}"
        )
    if options.protocol and version != options.protocol:
        raise UsageError(
            f"the server answers {options.protocol} with {version}", "leave --protocol out"
        )
    talk.watched.session.send(INITIALIZED.raw)
    return version, result


def _find_version(spoken: object) -> Version | None:
    return next((known for known in VERSIONS if known == spoken), None)


def _request_discovery(
    talk: _Conversation, options: Options, before: str = ""
) -> Mapping[str, Any]:
    """Send ``server/discover`` of the newest version; ``before`` is what was refused earlier."""
    names = talk.make_names()
    reply = talk.send_request(
        make_ping(_STATELESS, names.request_id("d")).raw, names.request_id("d"), talk.start_patience
    )
    if reply is None:
        raise _explain_silence(talk, options)
    if "method" in reply:
        raise TargetError("the command sends its input back", "give the command of an MCP server")
    if "result" not in reply:
        raise TargetError(
            f"{before}the server refused server/discover ({_quote_error(talk, reply)})",
            "read its message, or try another --protocol",
        )
    return _require_result(reply, "server/discover")


def _require_result(reply: Mapping[str, Any], method: str) -> Mapping[str, Any]:
    result = reply["result"]
    if not isinstance(result, dict):
        kind = _TYPE_NAMES.get(type(result), "a number")
        raise TargetError(
            f"the server answered {method} with {kind}", "its result must be an object"
        )
    return result


def _quote_error(talk: _Conversation, reply: Mapping[str, Any]) -> str:
    error = reply.get("error")
    if not isinstance(error, dict):
        return "no result"
    return talk.quote_text(_as_text(error.get("message"))) or "an error without a message"


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _explain_silence(talk: _Conversation, options: Options) -> TargetError:
    """Return the error for a server that did not answer its first request."""
    session, process = talk.watched.session, talk.watched.session.process
    if process.flooded:
        return TargetError(
            f"the server floods stdout with {talk.quote_stdout()} and answered no initialize",
            "it must speak MCP on stdout",
        )
    closed = process.stdout.ended
    if process.gone or closed:
        gone, unread, refused = process.wait(1.0), 0, False
    else:
        gone, unread, refused = False, process.unread(), process.refused
    wrote = talk.quote_stdout()
    status = session.stop()
    why = talk.quote_text(last_words(bytes(process.stderr.data)))
    printed = f" after printing {wrote} on stdout" if wrote else ""
    if gone:
        return TargetError(
            f"the server exited at once ({status}){printed}{why}", "run the command by hand"
        )
    if closed:
        return TargetError(f"the server closed its stdout at once{printed}{why}", "see its stderr")
    seconds = f"{talk.start_patience:g} s"
    if wrote:
        return TargetError(
            f"the server printed {wrote} but answered no initialize within {seconds}{why}",
            "it must speak MCP on stdout",
        )
    if refused:
        return TargetError(
            f"the server closed its stdin{why}", "is this a stdio server? Run it by hand"
        )
    more = "--start-patience" if talk.start_patience == options.start_patience else "--seconds"
    did = "did not read its stdin" if unread else "printed nothing"
    return TargetError(
        f"the server {did} within {seconds}{why}",
        f"is this a stdio server? If it only starts slowly, give {more}",
    )


def _server_info(hello: Mapping[str, Any]) -> Mapping[str, Any]:
    info = hello.get("serverInfo")
    if not isinstance(info, dict):
        meta = hello.get("_meta")
        info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else {}
    return info if isinstance(info, dict) else {}


def _list_versions(version: Version, hello: Mapping[str, Any]) -> tuple[Version, ...]:
    listed = hello.get("supportedVersions")
    also = listed if isinstance(listed, list) else []
    return tuple(known for known in VERSIONS if known == version or known in also)


def _list_requests(version: Version, hello: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the methods of requests that the server must know."""
    called = _CALLED & list_methods(version, "request", "client-to-server")
    return tuple(sorted(called | list_promised(version, hello.get("capabilities"))))


def _list_tools(talk: _Conversation, version: Version, patience: float) -> list[dict[str, Any]]:
    """Return all tools that the server lists, over all pages."""
    tools: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(_MOST_PAGES):
        names = talk.make_names()
        raw = make_listing(version, "tools/list", names.request_id("l"), cursor).raw
        reply = talk.send_request(raw, names.request_id("l"), patience)
        result = (reply or {}).get("result")
        if not isinstance(result, dict):
            break
        listed = result.get("tools")
        tools += [each for each in (listed if isinstance(listed, list) else []) if _is_tool(each)]
        said = result.get("nextCursor")
        if not isinstance(said, str) or not said:
            break
        cursor = said
    return tools


def _is_tool(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _declare_nominee(tools: list[dict[str, Any]], nominee: NominatedTool | None) -> Tool | None:
    if nominee is None:
        return None
    found = next((each for each in tools if each.get("name") == nominee.name), None)
    if found is None:
        names = ", ".join(each["name"] for each in tools) or "none"
        raise UsageError(f"the server has no tool {nominee.name!r}", f"it has: {names}")
    return declare_tool(found, nominee)


def _probe_policy(talk: _Conversation, facts: Facts) -> Policy:
    """Probe what the session does after a frame that every reader must reject: half an object."""
    names = talk.make_names()
    raw = b'{"jsonrpc":"2.0","id":\n' + make_ping(facts.version, names.request_id("s")).raw
    reply = talk.send_request(raw, names.request_id("s"), talk.servers.options.patience)
    return "close" if reply is None else "continue"
