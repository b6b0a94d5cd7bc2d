"""Each rule holds for this checkout, and each bites on a planted violation."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.project import patterns, rules

ROOT = Path(__file__).resolve().parents[2]

RULES = (
    rules.wrong_imports,
    rules.upward_imports,
    rules.undocumented_modules,
    rules.unexplained_inner_imports,
    rules.machine_traces,
    rules.findings_made_elsewhere,
    patterns.faulty_patterns,
)


def plant(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_this_checkout_keeps_the_rule(rule):
    if rule is rules.machine_traces and shutil.which("git") is None:
        pytest.skip("git is not installed, and knows which files belong to the checkout")
    assert rule(ROOT) == []


def test_the_files_to_be_run_first_are_there():
    assert [name for name in LONG if not (ROOT / "tests" / name).is_file()] == []


def test_the_rules_see_this_checkouts_modules():
    names = {name for name, _ in rules.modules(ROOT)}
    assert {
        "wirefence.strategies.records",
        "wirefence.targets.records",
        "wirefence.oracles.records",
    } <= names


@pytest.mark.parametrize(
    ("module", "statement", "name"),
    [
        ("strategies/a.py", "import wirefence.targets.records", "wirefence.targets.records"),
        ("strategies/a.py", "from wirefence.oracles import judge", "wirefence.oracles.judge"),
        (
            "targets/a.py",
            "from wirefence.oracles.records import Finding",
            "wirefence.oracles.records.Finding",
        ),
        ("oracles/a.py", "import wirefence.fuzz", "wirefence.fuzz"),
        (
            "oracles/a.py",
            "from wirefence.targets.parsers import names",
            "wirefence.targets.parsers.names",
        ),
        ("oracles/a.py", "from wirefence.targets import gateway", "wirefence.targets.gateway"),
        (
            "targets/gateway/a.py",
            "from wirefence.strategies.text import json",
            "wirefence.strategies.text.json",
        ),
        ("targets/gateway/a.py", "from ..planted import base", "wirefence.targets.planted.base"),
        (
            "targets/gateway/__init__.py",
            "from ..planted import base",
            "wirefence.targets.planted.base",
        ),
        (
            "targets/parsers/a.py",
            "from wirefence.targets.gateway import open",
            "wirefence.targets.gateway.open",
        ),
        ("fuzz/a.py", "from tests.conftest import ROOT", "tests.conftest.ROOT"),
        ("fuzz/a.py", "import oracles.judge", "oracles.judge"),
        ("oracles/a.py", "from strategies import records", "strategies.records"),
        ("targets/a.py", "def f():\n    import wirefence.fuzz", "wirefence.fuzz"),
    ],
)
def test_an_import_against_the_direction_is_named(tmp_path, module, statement, name):
    found = rules.wrong_imports(plant(tmp_path, module, statement))
    assert found == [f"{module}:{statement.count(chr(10)) + 1} imports {name}"]


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("fuzz/store/a.py", "from wirefence.fuzz.gate.records import Report"),
        ("fuzz/gate/a.py", "def f():\n    from wirefence.fuzz.crashes import minimize"),
        ("fuzz/gate/server/a.py", "from wirefence.fuzz.gate.report import text"),
        ("fuzz/gate/trials/a.py", "from wirefence.fuzz.gate.server.fresh import FreshServers"),
        ("fuzz/text.py", "import wirefence.fuzz.store.scan"),
    ],
)
def test_an_import_of_a_higher_layer_is_named(tmp_path, module, statement):
    for package in ("gate/records", "crashes/minimize", "gate/report/text", "gate/server/fresh"):
        plant(tmp_path, f"fuzz/{package}.py", "x = 1")
    plant(tmp_path, "fuzz/store/scan.py", "x = 1")
    renamed = module.replace("gate/a.py", "gate/run.py")
    (line,) = rules.upward_imports(plant(tmp_path, renamed, statement))
    assert line.startswith(f"{renamed}:")


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("fuzz/gate/run.py", "from wirefence.fuzz.gate.server import fresh"),
        ("fuzz/gate/server/a.py", "from wirefence.fuzz.gate.server import fresh"),
        ("fuzz/crashes/a.py", "from wirefence.fuzz.gate.records import Report"),
        ("fuzz/fuzz_a.py", "from wirefence.fuzz.coverage.entry import main"),
    ],
)
def test_an_import_of_the_same_or_a_lower_layer_passes(tmp_path, module, statement):
    assert rules.upward_imports(plant(tmp_path, module, statement)) == []


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("targets/a.py", "from wirefence.strategies.records import Case"),
        ("oracles/a.py", "from wirefence.targets.records import Trace"),
        ("oracles/a.py", "from wirefence.targets import records"),
        ("oracles/a.py", "from wirefence.strategies.source import Source"),
        ("targets/gateway/a.py", "from wirefence.targets.gateway.framing import Line"),
        ("targets/gateway/a.py", "from .framing import Line"),
        ("targets/gateway/a.py", "from wirefence.strategies.contract import Contract"),
        ("targets/parsers/a.py", "from wirefence.targets.records import Outcome"),
        ("targets/planted/a.py", "from wirefence.targets.gateway import open"),
        (
            "fuzz/a.py",
            "import wirefence.strategies, wirefence.targets.gateway, wirefence.oracles, json",
        ),
        ("strategies/a.py", "import targets_of_others"),
    ],
)
def test_an_import_along_the_direction_passes(tmp_path, module, statement):
    assert rules.wrong_imports(plant(tmp_path, module, statement)) == []


def test_a_module_without_docstring_is_named(tmp_path):
    plant(tmp_path, "fuzz/silent.py", "# not a docstring\nx = 1\n")
    plant(tmp_path, "fuzz/__init__.py", "")
    plant(tmp_path, "fuzz/said.py", '"""What it is."""\n')
    assert rules.undocumented_modules(tmp_path) == ["fuzz/__init__.py", "fuzz/silent.py"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("import json", ["fuzz/a.py:2"]),
        ("import json  # noqa: PLC0415", ["fuzz/a.py:2"]),
        ("import atheris  # type: ignore[import-untyped]", ["fuzz/a.py:2"]),
        ("import atheris  # noqa: PLC0415 - absent on other systems", []),
        ("# atheris is absent on other systems\n    import atheris  # noqa: PLC0415", []),
    ],
)
def test_an_import_inside_a_function_needs_a_reason(tmp_path, body, found):
    plant(tmp_path, "fuzz/a.py", f"def f():\n    {body}\n")
    assert rules.unexplained_inner_imports(tmp_path) == found


@pytest.mark.parametrize("call", ["make_finding(1)", "records.make_finding(1)", "Finding(1)"])
@pytest.mark.parametrize("folder", ["targets", "fuzz/gate/server"])
def test_a_finding_that_is_made_outside_of_the_oracles_is_named(tmp_path, folder, call):
    plant(tmp_path, f"{folder}/a.py", f"def f():\n    return {call}\n")
    assert rules.findings_made_elsewhere(tmp_path) == [f"{folder}/a.py:2 makes a finding"]


def test_a_finding_may_be_made_in_the_oracles_and_passed_on_elsewhere(tmp_path):
    plant(tmp_path, "oracles/a.py", "make_finding(1)\nevidence.make_finding(2)\n")
    plant(tmp_path, "fuzz/a.py", "make_death(1)\nself._make_finding(2)\nmake_finding_page(3)\n")
    plant(tmp_path, "fuzz/store/metadata.py", "Finding(1)\n")
    assert rules.findings_made_elsewhere(tmp_path) == []


@pytest.mark.parametrize(
    "trace",
    [
        "/".join(("", "work", "main")),
        "/".join(("", "root", ".cache")),
        "see " + "/".join(("", "tmp", "x")),
        "-".join(("", "", "index", "url")) + " x",
        "https:" + "//packages.example/simple",
        "PIP_" + "INDEX_URL=x",
    ],
)
def test_a_machine_path_or_index_address_is_named(tmp_path, trace):
    found = rules.machine_traces(plant(tmp_path, "docs/a.md", f"first\n{trace}\n"))
    assert len(found) == 1
    assert found[0].startswith("docs/a.md:2 has ")


def test_words_that_look_like_machine_paths_pass(tmp_path):
    text = "a framework/work item, example.org/root, /worker, JSON /rooted, a simple index\n"
    assert rules.machine_traces(plant(tmp_path, "docs/a.md", text)) == []


def test_reproducers_are_data_and_may_hold_anything(tmp_path):
    plant(tmp_path, "crashes/x/wire.bin", "/".join(("", "tmp", "x")))
    assert rules.machine_traces(tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        'A = re.compile(r"a++")',
        'A = re.compile(b"(?>a|b)c")',
        'A = re.sub("[a-z]{2,}+", "", "x")',
        'A = r"[0-9]"; B = re.compile(rf"-?(?:0|{A}*+)")',
        'A = "a|b"; B = re.compile(f"({A})" + "?+" + A)',
        'A = re.compile(rb"(?:a%b)*+b" % b"x")',
        'A = {"id": rb"[0-9]++"}',
        'A = re.compile(rf"{len(__name__)}+(x(?=(?:y|z?+)))")',
        'def f(x):\n    return any(re.search(each, x) for each in (r"x++", "y"))',
    ],
)
def test_a_possessive_quantifier_or_atomic_group_is_named(tmp_path, body):
    plant(tmp_path, "oracles/a.py", f"import re\n{body}\n")
    assert patterns.faulty_patterns(tmp_path) == [f"oracles/a.py:{body.count(chr(10)) + 2}"]


@pytest.mark.parametrize(
    "body",
    [
        '"""C++ and a*+ in words."""',
        'A = b"++1"',
        'A = "clang++"',
        r'A = re.compile(r"[*+?]+ \++ a\*+ (?=b) (?:c)* (?P<d>e)?")',
        'A = re.compile("C++".join(__doc__))',
        'A = r"(*+"',
    ],
)
def test_other_patterns_and_words_pass(tmp_path, body):
    plant(tmp_path, "scripts/a.py", f"import re\n{body}\n")
    assert patterns.faulty_patterns(tmp_path) == []
