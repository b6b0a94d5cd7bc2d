"""The gateway and the judge read params apart from each other, and agree on damaged ones."""

from __future__ import annotations

import json
import os
import random
from collections import Counter

import pytest

from tests.gateway.wire import META
from tests.oracles.shape_mutations import mutate
from wirefence.oracles.message import find_mcp_fault
from wirefence.oracles.protocol.formats import is_base64, is_uri
from wirefence.strategies.contract import Contract
from wirefence.strategies.mcp_kinds import kinds
from wirefence.strategies.records import VERSIONS, Version
from wirefence.strategies.source import RandomSource
from wirefence.targets.gateway.message import check_message, is_served
from wirefence.targets.gateway.rpc import read_message
from wirefence.targets.gateway.shapes import _is_base64, _is_uri
from wirefence.targets.gateway.verdicts import RejectedError

NIGHTLY = "100000" if os.environ.get("WIREFENCE_PROFILE") == "nightly" else "4000"
VALUES = int(os.environ.get("WIREFENCE_SHAPES", NIGHTLY))


@pytest.mark.parametrize("version", VERSIONS)
def test_damaged_params_of_served_methods_are_rejected_by_both(version: Version) -> None:
    choose, source = random.Random(version), RandomSource(7)
    contract = Contract(version=version, profile="spec")
    served = [
        kind
        for sort in ("request", "notification")
        for kind in kinds(version, "client-to-server", sort)
        if sort == "notification" or is_served(kind.method, contract)
    ]
    verdicts = Counter[bool]()
    for number in range(VALUES):
        kind = served[number % len(served)]
        params = kind.build(source, version)
        if version == "2026-07-28":
            params = {**params, "_meta": {**META, **params.get("_meta", {})}}
        message = {"jsonrpc": "2.0", "method": kind.method, "params": mutate(choose, params)}
        if kind.sort == "request":
            message["id"] = 1
        if not isinstance(message["params"], dict):
            continue
        expected = bool(find_mcp_fault(message, contract)[0])
        assert is_rejected(message, contract) == expected, json.dumps(message)
        verdicts[expected] += 1
    assert min(verdicts.values()) > 0.1 * sum(verdicts.values())


def is_rejected(message: object, contract: Contract) -> bool:
    try:
        check_message(read_message(message, contract), contract)
    except RejectedError:
        return True
    return False


def test_formats_are_read_alike() -> None:
    choose, letters = random.Random(1), "ab:/?#[]@!$&'()*+,;=%2F-._~ \"<>\\^`{|}é\n1="
    found = Counter[bool]()
    for _ in range(60_000):
        text = "".join(choose.choice(letters) for _ in range(choose.randint(0, 9)))
        text = choose.choice(("", "", "x:", "x://", "x://[", "x:/%4", "ab==")) + text
        assert _is_uri(text) == is_uri(text), text
        assert _is_base64(text) == is_base64(text), text
        found[is_uri(text)] += 1
    assert found[True] > 1_000
