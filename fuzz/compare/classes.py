"""Classes of differences: the effect of a difference, and a sentence about its consequence.

A class is an *effect* (what changes for the code that uses the parser) and the traits that the
smallest input still needs. Which side is right plays no part.
"""

from __future__ import annotations

from collections.abc import Set

from wirefence.fuzz.compare.values import name_value_effect
from wirefence.oracles.traits import PLAIN, TRAITS, first_trait
from wirefence.targets.environments import Observation

__all__ = [
    "EFFECTS",
    "MESSAGE",
    "WRITING",
    "choose_subject",
    "effect_of",
    "explain_effect",
    "explain_writing_effect",
    "needs_traits",
]

MESSAGE = "message"
"""Only the text of an error differs: counted separately, no change of behaviour."""

EFFECTS: dict[str, str] = {
    "dies": "{new} takes its process down where {old} does not, so one document is an outage",
    "survives": "{old} takes its process down where {new} answers",
    "hangs": "{new} does not answer in time where {old} does, so one document blocks its reader",
    "recovers": "{old} does not answer in time, or runs out of memory, where {new} answers",
    "memory": "{new} runs out of the memory that is enough for {old}",
    "escapes": "{new} raises an error that its documentation does not name, past handlers",
    "newly-accepted": "what a check on {old} refuses, code behind {new} receives and may act on",
    "newly-rejected": "{new} refuses traffic that {old} serves and that a check on {old} passes",
    "number-type": "checks of the type, comparisons of ids and routing take another branch",
    "number-value": "the number that a check sees on one side is not the number used on the other",
    "float-rounding": "thresholds, sums and signatures over the value differ in the last bits",
    "zero-sign": "the sign of zero, which shows when the value is written, differs",
    "string": "the text that a check sees on one side is not the text used on the other",
    "name": "a member goes by another name, so a check and a use look at different members",
    "order": "the order of members differs, and with it whatever signs, hashes or displays them",
    "members": "one side has members or elements that the other lacks",
    "type": "the value is of another type altogether",
    "error-type": "an except clause written for the one error need not catch the other",
}
"""Every effect, by severity, and its consequence; ``MESSAGE`` is not one of them."""

WRITING: dict[str, str] = {
    "newly-rejected": "{new} does not write a value that {old} writes, so an answer is lost",
    "newly-accepted": "{new} writes a value that {old} refuses, and its readers must cope",
    "error-type": "what refuses to write raises another error, past an except clause",
}
"""The consequence of an effect for writers, if it differs from that for readers."""

_ENDINGS = {
    "death": ("dies", "survives"),
    "hang": ("hangs", "recovers"),
    "memory": ("memory", "recovers"),
}


def effect_of(old: Observation, new: Observation) -> str:
    """Return how two outcomes of one input differ: an effect, ``MESSAGE`` or ``""``."""
    if old == new:
        return ""
    for kind, (worse, better) in _ENDINGS.items():
        if old.kind == new.kind == kind:  # two deaths are equal, whatever their signals
            return ""
        if kind in (old.kind, new.kind):
            return worse if new.kind == kind else better
    if old.kind == new.kind == "accept":
        return name_value_effect(old.value, new.value)
    return _name_error_effect(old, new)


def _name_error_effect(old: Observation, new: Observation) -> str:
    """Return how two outcomes differ of which at least one is an error."""
    if new.kind == "accept":
        return "newly-accepted"
    if new.kind == "escape" and old.kind != "escape":
        return "escapes"
    if old.kind == "accept":
        return "newly-rejected"
    return MESSAGE if (old.kind, old.error) == (new.kind, new.error) else "error-type"


def needs_traits(effect: str) -> bool:
    """Return whether a class of this effect is identified by traits, not by the outcomes alone."""
    return effect != "error-type"


def choose_subject(found: Set[str]) -> str:
    """Return the most specific trait of a set; ``any`` if there is none."""
    first = first_trait(found)
    return "any" if first == PLAIN else first


def explain_effect(effect: str, found: Set[str], old: str, new: str) -> str:
    """Return one sentence: what the inputs of the class contain, and the consequence."""
    name = choose_subject(found)
    held = f"For {TRAITS[name].meaning}, " if name in TRAITS else ""
    return _make_sentence(held, EFFECTS[effect], old, new)


def explain_writing_effect(effect: str, what: str, old: str, new: str) -> str:
    """Return the same for a difference in writing a value, or in reading what was written."""
    if what == "writing":
        return _make_sentence("", WRITING.get(effect, EFFECTS[effect]), old, new)
    return _make_sentence(f"In the {what}, ", EFFECTS[effect], old, new)


def _make_sentence(held: str, consequence: str, old: str, new: str) -> str:
    if not held and not consequence.startswith("{"):  # a name stays as it is spelled
        consequence = consequence[0].upper() + consequence[1:]
    return f"{held}{consequence.format(old=old, new=new)}."
