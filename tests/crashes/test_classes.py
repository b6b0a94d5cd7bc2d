"""The smallest documents of the classes of divergence that the installed parsers show."""

from __future__ import annotations

import pytest

from wirefence.fuzz.crashes.classes import find_classes
from wirefence.fuzz.crashes.divergences import divergences


@pytest.fixture(scope="module")
def classes():
    return find_classes(generated=0)


def test_each_class_has_one_document_that_shows_it(classes):
    signatures = [found.signature for found, _, _ in classes]
    assert len(signatures) == len(set(signatures)) >= 25
    for found, case, size in classes:
        assert found in divergences(case)
        assert len(case.data) <= size


def test_a_class_is_about_its_trait_alone(classes):
    """A document whose differences simpler ones explain is left out."""
    smallest = {found.signature: case.data for found, case, _ in classes}
    assert smallest["parsers|agree-accept|nan"] == b"NaN"
    assert smallest["parsers|agree-accept|trailing-comma"] == b"[0,]"
    assert smallest["parsers|agree-accept:rejects|overflow-exp"] == b"1e309"
    assert not any("|agree-accept|int" in signature for signature in smallest)
