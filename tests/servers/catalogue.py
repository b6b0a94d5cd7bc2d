"""Servers that nobody here wrote: what is installed, how each is started, and what it may be told.

Everything that a run needs is in one record, so the tests, the page of findings
and committed reproducers start the very same thing. The versions are those of the lists of pinned
packages beside this file, which are read and not repeated.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from wirefence.fuzz.gate.records import NominatedTool, Options
from wirefence.targets.command.records import Launch

__all__ = ["BY_NAME", "HERE", "ROOT", "SERVERS", "Place", "Server", "folder_of"]

Place = Literal["node", "python-1", "python-2"]
"""An environment of its own: one of node packages, two of Python packages that clash."""

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
_NODE = "node_modules/@modelcontextprotocol"


def folder_of(place: Place) -> Path:
    """Where an environment lies, from the root of the checkout."""
    return Path(".wirefence") / "servers" / place


@dataclass(frozen=True, slots=True)
class Server:
    """One server: ``words`` start it, where ``FOLDER`` stands for a folder that it may write to.

    ``package`` is the one whose version counts. ``arguments`` of ``tool`` may hold ``FOLDER`` too;
    ``env`` are changes of its environment. ``watch`` is where the tool writes, ``""`` for nowhere.
    ``repository`` says that the folder is one of git.
    """

    name: str
    title: str
    package: str
    place: Place
    words: tuple[str, ...]
    tool: str
    arguments: str
    env: Mapping[str, str] = field(default_factory=dict)
    watch: str = "FOLDER"
    repository: bool = False

    @property
    def version(self) -> str:
        """The pinned version of its package."""
        if self.place == "node":
            packages = json.loads((HERE / "package-lock.json").read_bytes())["packages"]
            return str(packages[f"node_modules/{self.package}"]["version"])
        pins = (HERE / f"{self.place}.txt").read_text(encoding="ascii")
        found = re.search(rf"^{re.escape(self.package)}==(\S+)$", pins, re.MULTILINE)
        assert found, f"{self.package} is not pinned in {self.place}.txt"
        return found[1]

    def launch(self, folder: Path) -> Launch:
        """The command, to be started at the root of the checkout, writing to ``folder``."""
        env: dict[str, str | None] = {k: _at(folder, v) for k, v in self.env.items()}
        return Launch(tuple(_at(folder, word) for word in self.words), env, None)

    def options(self, folder: Path, **more: object) -> Options:
        """What the gate is told; ``more`` are further fields of the options."""
        watch = (Path(_at(folder, self.watch)),) if self.watch else ()
        nominee = NominatedTool(self.tool, _at(folder, self.arguments))
        return Options(nominee=nominee, watch=watch, label=self.name, **more)  # type: ignore[arg-type]

    def make(self, folder: Path) -> None:
        """Make the folder what the server expects."""
        folder.mkdir(parents=True, exist_ok=True)
        if not self.repository or (folder / ".git").exists():
            return
        git = shutil.which("git") or "git"
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
        for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
            subprocess.run([git, "-C", str(folder), *words], check=True)


def _at(folder: Path, text: str) -> str:
    return text.replace("FOLDER", str(folder))


def _python(place: Place, *words: str) -> tuple[str, ...]:
    return (str(folder_of(place) / "bin" / "python"), *words)


def _node(*words: str) -> tuple[str, ...]:
    return ("node", *words)


def _recorder(name: str, title: str, package: str, place: Place) -> Server:
    words = _python(place, "tests/servers/recorder.py", name, "FOLDER")
    return Server(name, title, package, place, words, "record", '{"action":"{nonce}"}')


_MEMORY = '{"entities":[{"name":"{nonce}","entityType":"t","observations":[]}]}'
_AT_NODE = f"{folder_of('node')}/{_NODE}"

SERVERS: tuple[Server, ...] = (
    _recorder("mcp-1", "Python SDK 1.x", "mcp", "python-1"),
    _recorder("mcp-2", "Python SDK 2.x", "mcp", "python-2"),
    _recorder("fastmcp", "FastMCP", "fastmcp", "python-2"),
    Server(
        "mcp-server-time", "mcp-server-time", "mcp-server-time", "python-2",
        _python("python-2", "-m", "mcp_server_time"),
        "get_current_time", '{"timezone":"UTC"}', watch="",
    ),
    Server(
        "mcp-server-git", "mcp-server-git", "mcp-server-git", "python-2",
        _python("python-2", "-m", "mcp_server_git"),
        "git_create_branch", '{"repo_path":"FOLDER","branch_name":"{nonce}"}',
        watch="FOLDER/.git", repository=True,
    ),
    Server(
        "mcp-server-fetch", "mcp-server-fetch", "mcp-server-fetch", "python-2",
        _python("python-2", "-m", "mcp_server_fetch", "--ignore-robots-txt"),
        "fetch", '{"url":"http://pages.example/{nonce}","raw":true}', watch="",
    ),
    Server(
        "typescript-sdk", "TypeScript SDK", "@modelcontextprotocol/sdk", "node",
        _node("tests/servers/recorder.mjs", str(folder_of("node")), "FOLDER"),
        "record", '{"action":"{nonce}"}',
    ),
    Server(
        "server-everything", "server-everything", "@modelcontextprotocol/server-everything", "node",
        _node(f"{_AT_NODE}/server-everything/dist/index.js"),
        "echo", '{"message":"{nonce}"}', watch="",
    ),
    Server(
        "server-filesystem", "server-filesystem", "@modelcontextprotocol/server-filesystem", "node",
        _node(f"{_AT_NODE}/server-filesystem/dist/index.js", "FOLDER"),
        "write_file", '{"path":"FOLDER/{nonce}","content":"{nonce}"}',
    ),
    Server(
        "server-memory", "server-memory", "@modelcontextprotocol/server-memory", "node",
        _node(f"{_AT_NODE}/server-memory/dist/index.js"),
        "create_entities", _MEMORY, {"MEMORY_FILE_PATH": "FOLDER/memory.json"},
    ),
)  # fmt: skip
"""All of them, those of one language together."""

BY_NAME: Mapping[str, Server] = {server.name: server for server in SERVERS}
