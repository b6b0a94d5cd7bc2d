"""Build instrumented copies of parsers, or take them from the cache, and say how to run them.

The copies go in front of the installed libraries by ``PYTHONPATH`` alone. Nothing
that is installed changes, and a process without the environment that is returned here runs what it
always ran.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.native.cache import Cache, default_root
from wirefence.fuzz.native.cpython import Source, find_source
from wirefence.fuzz.native.libraries import NAMES, Library, choose_libraries
from wirefence.fuzz.native.loaded import ADDRESS, COVERAGE, assert_loaded, order_copies
from wirefence.fuzz.native.toolchain import (
    RELAY,
    Toolchain,
    compile_extension,
    compile_relay,
    find_failure,
    find_toolchain,
    run_tool,
)

__all__ = ["Native", "assert_loaded", "make_environment", "prepare"]

_RECIPE = "1"
"""Part of every build's identity: raise it when builds are made differently."""
_RELAY = "relay.so"
_UNREACHED = re.compile(
    r"No matching distribution|Could not find a version|[Ff]ailed to establish|timed out"
    r"|Name or service|Name resolution|ConnectionError|Network is unreachable"
)
_SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


@dataclass(frozen=True, slots=True)
class Native:
    """Instrumented copies that are ready. ``env`` changes the environment of a fuzzing process.

    ``versions`` has what was built, by name, and the compiler. ``missing`` has one sentence for
    each library that was asked for and cannot be built here. ``folders`` has each copy's place.
    """

    env: Mapping[str, str]
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    folders: Mapping[str, Path]
    address: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The libraries that were built: what ``assert_loaded`` is to be asked about."""
        return tuple(self.folders)


@dataclass(frozen=True, slots=True)
class _Built:
    version: str
    folder: Path


def prepare(
    names: Sequence[str] = NAMES, *, address: bool = False, root: Path | None = None
) -> Native:
    """Have instrumented copies of the libraries, built now or earlier; takes seconds when new.

    With ``address``, AddressSanitizer watches their memory. ``root`` is the folder of the cache.
    Raises UsageError where nothing can be built: no clang, no headers, no atheris, no source.
    """
    libraries = choose_libraries(names)
    tools = find_toolchain(address=address)
    cache = Cache(root or default_root())
    built: dict[str, _Built] = {}
    missing: dict[str, UsageError] = {}
    for library in libraries:
        try:
            built[library.name] = _build_library(library, tools, cache)
        except UsageError as error:
            missing[library.name] = error
    if not built:
        raise next(iter(missing.values()))
    folders = {name: one.folder for name, one in built.items()}
    return Native(
        env=make_environment(tools, list(folders.values()), _build_relay(tools, cache))
        | order_copies(list(folders), address=address),
        versions={name: one.version for name, one in built.items()} | {"clang": tools.version},
        missing={name: str(error) for name, error in missing.items()},
        folders=folders,
        address=address,
    )


def make_environment(tools: Toolchain, folders: Sequence[Path], relay: Path) -> dict[str, str]:
    """What a process needs to run copies in ``folders``; what was set already is kept behind.

    Raises UsageError where a path cannot be named in these variables.
    """
    preload = [tools.runtime, relay]  # AddressSanitizer insists on being the first
    for path in map(str, (*preload, *folders)):
        if re.search(r"[\s:]", path):
            raise UsageError(
                f"LD_PRELOAD and PYTHONPATH cannot name {path!r}, for its space or colon",
                "set XDG_CACHE_HOME to, or install atheris in, a folder without them",
            )
    env = {
        "PYTHONPATH": _prepend_parts("PYTHONPATH", *map(str, folders)),
        "LD_PRELOAD": _prepend_parts("LD_PRELOAD", *map(str, preload)),
        # The interpreter keeps much for its whole life: leaks are no sign of anything.
        "ASAN_OPTIONS": _prepend_parts(
            "ASAN_OPTIONS", "detect_leaks=0", "allocator_may_return_null=1", "allow_addr2line=1"
        ),
        "UBSAN_OPTIONS": _prepend_parts("UBSAN_OPTIONS", "print_stacktrace=1", "allow_addr2line=1"),
    }
    if tools.symbolizer():
        env["ASAN_SYMBOLIZER_PATH"] = env["UBSAN_SYMBOLIZER_PATH"] = tools.symbolizer()
    if tools.address:
        # Python's own allocator takes small blocks from large ones: overflows stay within those.
        env["PYTHONMALLOC"] = "malloc"
    return env


def _prepend_parts(name: str, *ours: str) -> str:
    """Our parts of a variable, then those that are set and are none of ours from another start."""
    given = os.environ.get(name, "").split(":")
    runtimes = ("_with_fuzzer.so", f"/{_RELAY}")
    kept = [part for part in given if part and part not in ours and not part.endswith(runtimes)]
    return ":".join([*ours, *kept])


def _build_relay(tools: Toolchain, cache: Cache) -> Path:
    identity = {
        "compiler": tools.version,
        "source": hashlib.sha256(RELAY.read_bytes()).hexdigest(),
        "machine": platform.machine(),
    }
    made = cache.entry("relay", identity, lambda into: compile_relay(tools, into / _RELAY))
    return made / _RELAY


def _build_library(library: Library, tools: Toolchain, cache: Cache) -> _Built:
    if library.distribution:
        version = _read_installed_version(library.distribution)
        make = partial(_build_wheel, library, version, tools)
    else:
        if library.module in sys.builtin_module_names:
            raise UsageError(
                f"{library.module} is built into this interpreter, where no copy can replace it",
                "use an interpreter that has it as a file",
            )
        source = find_source(cache)
        version = _describe_version(source)
        make = partial(_build_module, library, source, tools)
    folder = cache.entry(
        f"{library.name}-{version.partition(' ')[0]}", _describe_build(version, tools), make
    )
    return _Built(version, folder)


def _describe_build(version: str, tools: Toolchain) -> dict[str, str]:
    return {
        "version": version,
        "python": f"{sys.version} {_SUFFIX} {platform.machine()}",
        "compiler": tools.version,
        "flags": " ".join([tools.sanitizers, *tools.flags]),
        "recipe": _RECIPE,
    }


def _read_installed_version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError(
            f"{distribution} is not installed", f"pip install {distribution}"
        ) from error


def _describe_version(source: Source) -> str:
    """The version of ``_json``'s source, and the interpreter's own where it is another."""
    own = platform.python_version()
    return own if source.version == own else f"{source.version} (in CPython {own})"


def _build_wheel(library: Library, version: str, tools: Toolchain, into: Path) -> None:
    """Build exactly this version from the source on the package index."""
    name = library.distribution
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # Without its cache: pip keeps wheels by source alone, not by compiler and flags.
        command = [
            *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-cache-dir"),
            *("--no-input", "--no-binary", name, f"{name}=={version}", "--wheel-dir", folder),
        ]
        done = run_tool(command, env=tools.build_env(work))
        if done.returncode:
            raise _explain_build_failure(name, version, tools, done.stdout)
        for path in work.glob("*.whl"):
            with zipfile.ZipFile(path) as packed:
                packed.extractall(into)
    _check_instrumented(into / Path(*library.module.split(".")).with_suffix(_SUFFIX), tools)


def _explain_build_failure(name: str, version: str, tools: Toolchain, said: str) -> UsageError:
    if _UNREACHED.search(said):
        return UsageError(
            f"the source of {name} {version} was not found on a package index",
            "connect to one that has it and start again: builds are kept for later runs",
        )
    return UsageError(
        f"building {name} {version} with {tools.version} failed: {find_failure(said)}",
        "leave it out, or try another version of the library or of clang",
    )


def _build_module(library: Library, source: Source, tools: Toolchain, into: Path) -> None:
    target = into / f"{library.module}{_SUFFIX}"
    internal = Path(sysconfig.get_path("include")) / "internal"
    compile_extension(tools, source.folder / "Modules" / "_json.c", target, includes=[internal])
    _check_instrumented(target, tools)


def _check_instrumented(path: Path, tools: Toolchain) -> None:
    """A package may go on without its C code, or with flags of its own: see what came out."""
    wanted = (COVERAGE, ADDRESS) if tools.address else (COVERAGE,)
    if not path.is_file() or any(symbol not in path.read_bytes() for symbol in wanted):
        raise UsageError(
            f"the build made no instrumented {path.name}", "see whether its set-up ignores CC"
        )
