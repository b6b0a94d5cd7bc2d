"""Changed conditions under which servers often print on stdout when they start or end.

Noise appears where the environment differs from the maintainer's: an exported variable, a missing
file, a wrapper, a signal. Each condition is one variant, so a finding names the condition that
caused it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import inherited_value, may_install, with_env

__all__ = ["PLAIN", "TOGETHER", "VARIANTS", "End", "StartupVariant", "find_variant"]

End = Literal["eof", "eof-at-once", "signal", "crash"]


_Change = Callable[[Launch], Launch]
_MISSING = "/nonexistent/wirefence"
_IN_EMPTY = 'd=$(mktemp -d) && cd "$d" && {home}"$@"; code=$?; rm -rf "$d"; exit $code'
"""Makes and removes its own folder, so that the changed command can run again as it is."""


@dataclass(frozen=True, slots=True)
class StartupVariant:
    """One difference from a plain start.

    ``works`` says that the server must still answer. ``idle`` is the wait before the first byte, in
    seconds; ``end`` says how the session ends, with ``signal`` for an end by signal. ``merges``
    says that stderr goes to stdout: then what a plain start writes to stderr is permitted, as a
    server may log there, but no message may be joined to it. ``parts`` are the variants that share
    this one's start: each runs alone if the whole shows anything.
    """

    name: str
    about: str
    change: _Change
    works: bool = True
    idle: float = 0.0
    end: End = "eof"
    signal: signal.Signals | None = None
    merges: bool = False
    parts: tuple[StartupVariant, ...] = ()


def _keep_launch(launch: Launch) -> Launch:
    return launch


def _set_variables(**changes: str | None) -> _Change:
    return lambda launch: with_env(launch, **changes)


def _enable_warnings(launch: Launch) -> Launch:
    options = "--trace-warnings --trace-deprecation --pending-deprecation"
    node = f"{inherited_value(launch, 'NODE_OPTIONS') or ''} {options}".strip()
    return with_env(
        launch, PYTHONWARNINGS="always", PYTHONDEVMODE="1", NODE_OPTIONS=node, RUBYOPT="-w"
    )


def _make_paths_absolute(launch: Launch) -> list[str]:
    """Return the command for any working directory: words that name files keep naming them."""
    base = (launch.cwd or Path.cwd()).absolute()
    return [str(base / word) if _names_file(base, word) else word for word in launch.argv]


def _names_file(base: Path, word: str) -> bool:
    """Whether a word is a path; a bare folder name may be a module or package instead."""
    try:
        path = base / word
        return path.exists() if "/" in word else path.is_file()
    except (OSError, ValueError):
        return False


def _move_to_empty_folder(launch: Launch) -> Launch:
    home = "" if may_install(launch) else 'HOME="$d" '  # what an installer has fetched lies in HOME
    script = _IN_EMPTY.format(home=home)
    moved = replace(launch, argv=("/bin/sh", "-c", script, "sh", *_make_paths_absolute(launch)))
    if may_install(launch):
        return moved
    nothing = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"))
    return with_env(moved, **nothing)


def _break_environment(launch: Launch) -> Launch:
    names = ("TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "NODE_EXTRA_CA_CERTS")
    changes = dict.fromkeys(names, _MISSING)
    if not may_install(launch):
        changes |= {"HOME": _MISSING, "https_proxy": "http://127.0.0.1:9"}
    return with_env(launch, LC_ALL="xx_XX.none", TZ="None/Nowhere", **changes)


def _redirect_stderr(redirection: str) -> _Change:
    script = f'exec "$@" {redirection}'
    return lambda launch: replace(launch, argv=("/bin/sh", "-c", script, "sh", *launch.argv))


PLAIN = StartupVariant("plain", "nothing is different", _keep_launch)
"""The start that the others are compared with."""

VARIANTS: tuple[StartupVariant, ...] = (
    StartupVariant(
        "verbose",
        "switches that many programs read: DEBUG, VERBOSE, LOG_LEVEL",
        _set_variables(
            DEBUG="*", VERBOSE="1", LOG_LEVEL="debug", LOGLEVEL="DEBUG", NODE_ENV="development"
        ),
    ),
    StartupVariant(
        "verbose-mcp",
        "log switches of MCP frameworks and of Python's loggers",
        _set_variables(
            FASTMCP_LOG_LEVEL="DEBUG",
            FASTMCP_DEBUG="true",
            MCP_LOG_LEVEL="debug",
            MCP_DEBUG="1",
            LOGURU_LEVEL="TRACE",
        ),
    ),
    StartupVariant(
        "verbose-python",
        "Python in development mode, with asyncio's debug mode and import times",
        _set_variables(PYTHONDEVMODE="1", PYTHONASYNCIODEBUG="1", PYTHONPROFILEIMPORTTIME="1"),
    ),
    StartupVariant(
        "verbose-node",
        "Node's and npm's own debug output",
        _set_variables(
            NODE_DEBUG="module,net,http,child_process,timer", npm_config_loglevel="verbose"
        ),
    ),
    StartupVariant(
        "verbose-native",
        "log switches of Rust and Go programs",
        _set_variables(
            RUST_LOG="trace", RUST_BACKTRACE="full", GODEBUG="inittrace=1", GOTRACEBACK="all"
        ),
    ),
    StartupVariant(
        "verbose-jvm",
        "log levels of Spring and SLF4J",
        _set_variables(
            LOGGING_LEVEL_ROOT="DEBUG",
            JAVA_TOOL_OPTIONS="-Dorg.slf4j.simpleLogger.defaultLogLevel=trace",
        ),
    ),
    StartupVariant(
        "verbose-dotnet",
        "log level of .NET's generic host, whose console logger writes to stdout",
        _set_variables(Logging__LogLevel__Default="Trace", DOTNET_ENVIRONMENT="Development"),
    ),
    StartupVariant("warnings", "deprecation and other warnings turned on", _enable_warnings),
    StartupVariant(
        "colour-forced",
        "variables that force colours, as continuous integration sets them",
        _set_variables(FORCE_COLOR="1", CLICOLOR_FORCE="1", PY_COLORS="1", TERM="xterm-256color"),
    ),
    StartupVariant(
        "term-unset", "no terminal and no TERM", _set_variables(TERM=None, COLUMNS=None, LINES=None)
    ),
    StartupVariant(
        "term-odd",
        "a TERM that no database knows, 1 column",
        _set_variables(TERM="zz-9", COLUMNS="1"),
    ),
    StartupVariant(
        "no-configuration",
        "an empty working directory and an empty HOME",
        _move_to_empty_folder,
        works=False,
    ),
    StartupVariant(
        "recoverable-failure",
        "HOME, caches, certificates, locale, time zone and proxy that do not exist",
        _break_environment,
        works=False,
    ),
    StartupVariant(
        "idle-start", "nothing is sent for a while after the start", _keep_launch, idle=1.5
    ),
    StartupVariant(
        "eof-at-once", "stdin ends before the first byte", _keep_launch, end="eof-at-once"
    ),
    StartupVariant(
        "sigterm-in-flight",
        "SIGTERM right behind a request",
        _keep_launch,
        end="signal",
        signal=signal.SIGTERM,
    ),
    StartupVariant(
        "sigint-in-flight",
        "SIGINT right behind a request, as Ctrl-C in the client's terminal",
        _keep_launch,
        end="signal",
        signal=signal.SIGINT,
    ),
    StartupVariant(
        "crash-handler",
        "a fatal signal, with the runtimes' crash reports turned on",
        _set_variables(PYTHONFAULTHANDLER="1", RUST_BACKTRACE="1"),
        end="crash",
        signal=signal.SIGABRT,
    ),
    StartupVariant("stderr-closed", "a wrapper that closes stderr", _redirect_stderr("2>&-")),
    StartupVariant(
        "stderr-merged",
        "a wrapper that merges stderr into stdout",
        _redirect_stderr("2>&1"),
        merges=True,
    ),
)
"""Every startup variant, each with its meaning."""


_TALKATIVE = tuple(
    variant for variant in VARIANTS if variant.name.startswith(("verbose", "warnings", "colour"))
)


def _apply_all(launch: Launch) -> Launch:
    for variant in _TALKATIVE:
        launch = variant.change(launch)
    return launch


TOGETHER = StartupVariant(
    "talkative",
    "every switch for debug output, warnings and colours at once",
    _apply_all,
    parts=_TALKATIVE,
)
"""One start for variants that only set variables, none to different values. If it is silent,
each part is, except for a server that one of them silences."""


def find_variant(name: str) -> StartupVariant | None:
    """Return the variant of this name."""
    return next((variant for variant in (*VARIANTS, TOGETHER) if variant.name == name), None)
