"""Libraries made up for a test: modules beside a worker, wheels and projects without an index."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from wirefence.targets import environments
from wirefence.targets.environments import Context, Worker
from wirefence.targets.environments.records import Program

WORKER = Path(environments.__file__).with_name("worker.py")

Open = Callable[..., AbstractContextManager[Worker]]

_BACKEND = """
import zipfile
def get_requires_for_build_wheel(config_settings=None):
    return []
def build_wheel(folder, config_settings=None, metadata_directory=None):
    {failing}
    name = "planted_json-{version}-py3-none-any.whl"
    base = "planted_json-{version}.dist-info/"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        wheel.writestr("planted_json.py", open("planted_json.py").read())
        for file, content in {files!r}.items():
            wheel.writestr(base + file, content)
    return name
"""


def _metadata(version: str, tag: str) -> dict[str, str]:
    return {
        "METADATA": f"Metadata-Version: 2.1\nName: planted-json\nVersion: {version}\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: {tag}\n",
        "RECORD": "planted_json.py,,\n",
    }


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open a worker over a module given as source."""

    @contextmanager
    def start(source: str, context: Context | None = None) -> Iterator[Worker]:
        (tmp_path / "planted.py").write_text(source)
        run = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import runpy; "
            f"runpy.run_path({str(WORKER)!r}, run_name='__main__')"
        )
        program = Program((sys.executable, "-I", "-S", "-c", run), "planted")
        worker = Worker(program, context or Context())
        try:
            yield worker
        finally:
            worker.close()

    return start


@pytest.fixture
def wheel(tmp_path: Path) -> Callable[..., Path]:
    """Make a wheel of ``planted-json``; by default for every Python."""

    def make(source: str, version: str = "1.0", tag: str = "py3-none-any") -> Path:
        path = tmp_path / f"planted_json-{version}-{tag}.whl"
        base = f"planted_json-{version}.dist-info/"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("planted_json.py", source)
            archive.writestr(
                base + "METADATA",
                f"Metadata-Version: 2.1\nName: planted-json\nVersion: {version}\n",
            )
            archive.writestr(
                base + "WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
            )
            archive.writestr(base + "RECORD", "planted_json.py,,\n")
        return path

    return make


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """Make a project directory of ``planted-json`` that builds itself, or fails to."""

    def make(source: str, version: str = "1.0", failing: str = "pass") -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "planted_json.py").write_text(source)
        files = _metadata(version, "py3-none-any")
        backend = _BACKEND.format(version=version, failing=failing, files=files)
        (folder / "backend.py").write_text(backend)
        (folder / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        )
        return folder

    return make
