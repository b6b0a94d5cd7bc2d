"""libFuzzer targets run as OSS-Fuzz runs them: a checkout without an installation, or the wheel."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Environment, run_in

pytestmark = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel here")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.py")))
def test_a_target_of_the_checkout_needs_no_installation(
    bare: Environment, tmp_path: Path, name: str
) -> None:
    assert run_in(tmp_path, bare.python, "-c", "import wirefence").code == 1
    ran = run_in(tmp_path, bare.python, str(ROOT / "fuzz" / f"{name}.py"), "-runs=1")
    assert ran.code == 0, ran.err[-2_000:]
    assert "DONE" in ran.err
    assert "Instrumenting wirefence.targets." in ran.err


def test_a_target_of_the_wheel_runs(full: Environment, tmp_path: Path) -> None:
    file = full.packages / "wirefence" / "fuzz" / "fuzz_judge.py"
    ran = run_in(tmp_path, full.python, str(file), "-runs=1")
    assert ran.code == 0, ran.err[-2_000:]
    assert "DONE" in ran.err
