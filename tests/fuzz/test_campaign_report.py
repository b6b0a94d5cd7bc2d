"""A campaign's report groups its findings by fault: the gravest as title, the others below it."""

from __future__ import annotations

import json

from wirefence.fuzz.campaign.report import as_json, as_table
from wirefence.fuzz.examination.events import Finished, Found, Tally
from wirefence.oracles.records import make_finding
from wirefence.strategies.records import Case

END = Finished(1.0, Tally(cases=64), 4, "done")
SHOWN = (
    ("reply", "reply-code", "json-syntax:nan"),
    ("non-action", "act-rejected", "json-syntax:nan"),
    ("non-action", "act-after-close", "json-syntax:nan"),
    ("reply", "reply-twice", "none"),
)
FOUND = [
    Found(make_finding(oracle, effect, "server", deviation, "said"), Case(()), f"{at}.frame")
    for at, (oracle, effect, deviation) in enumerate(SHOWN)
]


def test_the_gravest_finding_of_a_fault_is_its_title_and_others_have_a_line_each() -> None:
    lines = as_table(END, FOUND).splitlines()
    assert lines[0].startswith("4 new findings of 2 faults in 64 cases, ")
    assert lines[2] == "FOUND non-action act-rejected in server: said"
    assert lines[4:6] == [
        "      also act-after-close, json-syntax:nan: 2.frame",
        "      also reply-code, json-syntax:nan: 0.frame",
    ]
    assert lines[6] == "FOUND reply reply-twice in server: said"


def test_json_lists_the_signatures_of_each_fault_and_every_finding() -> None:
    content = json.loads(as_json(END, FOUND))
    assert [each["signatures"] for each in content["faults"]] == [
        [
            "server|act-rejected|json-syntax:nan",
            "server|act-after-close|json-syntax:nan",
            "server|reply-code|json-syntax:nan",
        ],
        ["server|reply-twice|none"],
    ]
    assert [each["path"] for each in content["found"]] == [f"{at}.frame" for at in range(4)]


def test_without_findings_there_is_nothing_new() -> None:
    nothing = Finished(1.0, Tally(cases=64), 0, "done")
    assert as_table(nothing, []).startswith("Nothing new in 64 cases, ")
    assert json.loads(as_json(nothing, []))["faults"] == []
