from __future__ import annotations

import html
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import jsonschema
import pytest

from tests.gate_outputs.reports import flaw, report
from wirefence.fuzz.gate.records import Report, Sign
from wirefence.fuzz.gate.report.finding_details import SHOWN, explain_rule, list_details
from wirefence.fuzz.gate.report.junit import format_junit
from wirefence.fuzz.gate.report.markdown import format_markdown
from wirefence.fuzz.gate.report.sarif import format_sarif
from wirefence.fuzz.gate.report.text import decide_verdict, format_json, format_table
from wirefence.fuzz.store.redaction import Redactor
from wirefence.oracles.rules import BY_ID, ORACLE_RULES
from wirefence.strategies.records import Case, Frame
from wirefence.targets.command.records import Launch

HOSTILE = "a\x00b\x1b[31m]]>\ufffe\udc80<&|`` # *x*\u202e"
WORDS = {"type": "string", "minLength": 1, "maxLength": 1024}
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
SHORT = {"type": "object", "required": ["text"], "properties": {"text": WORDS}}
AT = {"type": "integer", "minimum": 1}
PLACE = {
    "required": ["physicalLocation"],
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation", "region"],
            "properties": {
                "artifactLocation": {"required": ["uri"], "properties": {"uri": WORDS}},
                "region": {
                    "required": ["startLine", "startColumn", "endLine", "endColumn"],
                    "additionalProperties": AT,
                },
            },
        }
    },
}
# What SARIF 2.1.0 requires of the parts that are used (sections 3.13 to 3.49), and what GitHub's
# code scanning requires beyond it: nothing empty, a help text, a place with a region.
SARIF = {
    "type": "object",
    "required": ["$schema", "version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "items": {
                                            "required": [
                                                "id",
                                                "shortDescription",
                                                "fullDescription",
                                                "help",
                                            ],
                                            "properties": {
                                                "shortDescription": SHORT,
                                                "fullDescription": SHORT,
                                                "help": SHORT,
                                            },
                                        },
                                        "uniqueItems": True,
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "items": {
                            "required": ["message", "ruleId", "ruleIndex", "locations"],
                            "properties": {
                                "message": TEXT,
                                "locations": {"minItems": 1, "items": PLACE},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "suppressions": {
                                    "items": {
                                        "required": ["kind"],
                                        "properties": {"kind": {"enum": ["inSource", "external"]}},
                                    }
                                },
                            },
                        }
                    },
                },
            },
        },
    },
}


def test_junit_counts_failures_and_skips_what_is_expected() -> None:
    known = flaw("act-twice")
    made = report(flaw(), replace(known, known=True))
    suite = ET.fromstring(format_junit(made)).find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert len(suite.findall("testcase")) == 3
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "act-rejected"
    assert "replay: wirefence replay" in (failure.text or "")
    assert r"offending: '\x00\xff|`]]>'" in (failure.text or "")
    assert r"""sent: '{"x"\n'""" in (failure.text or "")


@pytest.mark.parametrize("make", [format_junit, format_sarif, format_markdown])
def test_hostile_text_keeps_every_form_well(make: object) -> None:
    made = report(flaw(kind=HOSTILE, summary=HOSTILE), command=HOSTILE, notes=(HOSTILE,), gap="x")
    made.tally.signs["x"] = Sign(flaw(kind=HOSTILE, summary=HOSTILE).finding, HOSTILE, b"\x1b")
    text = make(made)
    raw = text if isinstance(text, bytes) else text.encode()
    assert not {c for c in raw.decode() if not c.isprintable()} - {"\n"}


def test_junit_of_hostile_text_parses_again() -> None:
    suite = ET.fromstring(format_junit(report(flaw(summary=HOSTILE)))).find("testsuite")
    assert suite is not None
    assert "a\\x00b\\x1b" in (suite.findtext("testcase/failure") or "")


def test_sarif_has_what_the_standard_requires() -> None:
    known = replace(flaw("act-twice"), known=True)
    log = json.loads(format_sarif(report(flaw(), flaw(kind="other"), known)))
    jsonschema.validate(log, SARIF)
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["act-rejected", "act-twice"]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [
        result["ruleId"] for result in run["results"]
    ]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "out/a%20b.frame"
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert min(region.values()) >= 1
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert len(set(hashes)) == 3
    assert all(rule["help"]["text"] for rule in run["tool"]["driver"]["rules"])
    assert ["suppressions" in result for result in run["results"]] == [False, False, True]


@pytest.mark.parametrize(
    ("path", "uri"), [("/a/b c.frame", "file:///a/b%20c.frame"), ("", "stdin"), ("a#b", "a%23b")]
)
def test_sarif_names_a_place_as_a_uri(path: str, uri: str) -> None:
    [result] = json.loads(format_sarif(report(replace(flaw(), path=path))))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


# What the schema that Jenkins, pytest and junitparser share knows of each element.
JUNIT = {
    "testsuites": {"name", "time", "tests", "failures", "disabled", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp"},
    "testcase": {"name", "classname", "time", "assertions", "status"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
}


def test_junit_has_what_the_common_schema_knows_and_nothing_else() -> None:
    made = report(flaw(), replace(flaw("act-twice"), known=True), gap="it was interrupted")
    root = ET.fromstring(format_junit(made))
    for element in root.iter():
        assert set(element.attrib) <= JUNIT[element.tag]
        assert element.tag in {"failure", "error", "skipped"} or element.get("name")
    cases = root.findall("testsuite/testcase")
    assert all(len(case) <= 1 for case in cases)
    suite = root.find("testsuite")
    assert suite is not None
    for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert suite.get(name) == str(len(suite.findall(f"testcase/{tag}"))) == "1"
    assert suite.get("tests") == str(len(cases))


def test_a_run_that_is_no_pass_is_none_in_any_form() -> None:
    made = report(gap="the run was interrupted after 3 s", reason="interrupted")
    [run] = json.loads(format_sarif(made))["runs"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "interrupted" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert "**No pass**: the run was interrupted" in format_markdown(made)
    assert "NO PASS: the run was interrupted" in format_table(made)
    assert format_table(made).splitlines()[0].endswith(": no verdict")
    assert (decide_verdict(made), json.loads(format_json(made))["verdict"]) == ("none", "none")
    assert decide_verdict(report(flaw(), gap="x")) == "findings"
    assert decide_verdict(report(replace(flaw(), known=True))) == "pass"


@pytest.mark.parametrize(
    ("make", "full", "listed", "head"),
    [
        (format_table, "1. non-action act-rejected: new",
         "  non-action reply-twice: old (expected)", "In the baseline:"),
        (format_markdown, "## act-rejected: new", "- reply-twice: old", "## In the baseline"),
    ],
)  # fmt: skip
def test_what_is_expected_is_a_line_and_what_is_new_is_shown_in_full(
    make: Callable[[Report], str], full: str, listed: str, head: str
) -> None:
    new, known = flaw(summary="new"), replace(flaw("reply-twice", summary="old"), known=True)
    text = make(report(known, new))
    assert text.count("reproducer") == 1
    assert text.index(full) < text.index(head) < text.index(listed)
    assert head not in make(report(new))


def test_every_form_shows_the_rule_that_was_broken_and_the_bytes_that_broke_it() -> None:
    made = report(flaw(kind="json-syntax"))
    told = list(list_details(made.flaws[0], made, Redactor()))
    assert dict(told)["rule"].startswith("json-syntax: ")
    for form in (format_table, format_markdown, format_sarif, format_junit):
        text = html.unescape(form(made).decode() if form is format_junit else form(made))
        for name, value in told:
            assert name in text
            shown = json.dumps(value)[1:-1] if form is format_sarif else value
            assert name == "rule" or shown in text


def test_of_a_long_input_both_ends_are_shown() -> None:
    case = Case((Frame(b"good" + b"-" * 500 + b"bad\x1b\n"),))
    text = format_table(report(replace(flaw(), case=case)))
    (line,) = [each for each in text.splitlines() if each.startswith("   sent")]
    assert "'good---" in line
    assert "---bad\\x1b\\n', 509 bytes" in line
    assert len(line) < 400


def test_what_was_not_run_is_named() -> None:
    made = report()
    made.tally.skipped["ugly before"] = ("ugly-two-objects",)
    for text in (format_markdown(made), format_table(made), format_json(made)):
        assert "ugly-two-objects" in text


def test_every_rule_that_can_be_broken_has_what_code_scanning_requires() -> None:
    rules = [*BY_ID, *(rule for each in ORACLE_RULES.values() for rule in each)]
    jsonschema.validate(json.loads(format_sarif(report(*map(flaw, rules)))), SARIF)
    jsonschema.validate(json.loads(format_sarif(report())), SARIF)


def test_markdown_tells_findings_who_looked_and_what_was_tried() -> None:
    text = format_markdown(report(flaw(summary="a | b")))
    assert "**1 new faults**, 0 expected findings." in text
    assert "## act-rejected: a \\| b" in text
    assert "| strace | off: strace is not installed |" in text
    assert "| framing | after | 7 | 1 | 0 |" in text
    assert "- replay: `wirefence replay`" in text


@pytest.mark.parametrize(
    "make", [format_junit, format_sarif, format_markdown, format_table, format_json]
)
def test_no_form_shows_part_of_a_secret(make: Callable[[Report, Redactor], object]) -> None:
    hide = Redactor.for_launch(Launch(("s",), {"X_TOKEN": "swordfish"}), {})
    cut = b"\xff" + b"-" * (SHOWN - 6) + b"swordfish"
    told = replace(flaw(summary="swordfish"), offending=cut, case=Case((Frame(cut * 3),)))
    made = report(told, command="s swordfish", notes=("swordfish",), gap="swordfish")
    made.tally.signs["x"] = Sign(replace(told.finding, offending=cut), "t", cut * 3)
    text = make(made, hide)
    shown = text.decode() if isinstance(text, bytes) else str(text)
    assert "sword" not in shown
    assert b"sword".hex() not in shown


@pytest.mark.parametrize(
    "told",
    [
        'see "https://h/?token=opensesame"',
        'Set-Cookie: a="opensesame"',
        'Authorization: opensesame"x',
        "x-api-key: opensesame",
        'Cookie: "opensesame\\',
        "Bearer opensesame",
    ],
)
def test_json_is_json_whatever_a_finding_quotes(told: str) -> None:
    made = report(flaw(summary=told), command=told, notes=(told,))
    made.tally.signs[told] = Sign(replace(flaw().finding, signature=told + "||"), "t", b"", 3)
    content = json.loads(format_json(made))
    assert "***" in content["findings"][0]["summary"]
    assert list(content["unconfirmed"].values()) == [3]
    assert content["server"]["tools"] == ["record"]
    assert "opensesame" not in json.dumps(content)


def test_rules_are_explained_with_their_source() -> None:
    assert explain_rule("json-syntax") == (
        "A frame is exactly one JSON text.",
        "RFC 8259 sections 2 to 7",
    )
    assert explain_rule("act-twice") == ("A second effect of one call.", "oracle non-action")
    assert explain_rule("nonsense") == ("nonsense", "")
