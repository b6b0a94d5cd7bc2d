"""The reference gateway as ``python -m wirefence.targets.gateway`` serves it, without its log.

``python reference.py VERSION POLICY PROFILE``. Its log takes longer to import than all the rest.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bare  # noqa: F401 - must come before what it makes cheap

from wirefence.strategies.contract import Contract
from wirefence.targets.gateway.session import ReferenceGateway


def main(version, policy, profile) -> None:
    contract = Contract(version=version, policy=policy, profile=profile)
    gateway = ReferenceGateway(lambda tool, arguments: None, contract)
    while data := os.read(0, 65_536):
        write(gateway.feed(data))
    write(gateway.eof())


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
