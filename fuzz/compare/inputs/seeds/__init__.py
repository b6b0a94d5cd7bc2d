"""Generators for every known kind of divergence: each gives many variants, not single inputs."""

from wirefence.fuzz.compare.inputs.seeds import numbers, sizes, syntax, text
from wirefence.fuzz.compare.inputs.seeds.base import Family

__all__ = ["FAMILIES", "Family"]

FAMILIES: tuple[Family, ...] = (
    *syntax.FAMILIES,
    *numbers.FAMILIES,
    *text.FAMILIES,
    *sizes.FAMILIES,
    *numbers.LONG,
    *sizes.LONG,
)
"""Every generator; those whose inputs are long, and so cost most, come last."""
