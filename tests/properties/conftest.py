"""How many examples each property is given: ``dev`` 50, ``ci`` 500, ``nightly`` 50,000.

``WIREFENCE_PROFILE=nightly pytest tests/properties`` chooses one, and so does
``--hypothesis-profile=nightly``; ``dev`` is the default. ``ci`` draws the same examples each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

EXAMPLES = {"dev": 50, "ci": 500, "nightly": 50_000}

for name, count in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=count,
        derandomize=name == "ci",  # a red run is due to the change that it tests
        deadline=None,  # machines are shared: time says nothing about a property
        suppress_health_check=[HealthCheck.too_slow],
        database=None,  # a fault that is found goes to crashes/, which is the record
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the profile, unless the command line names one."""
    if not config.getoption("--hypothesis-profile", None):
        settings.load_profile(os.environ.get("WIREFENCE_PROFILE", "dev"))
