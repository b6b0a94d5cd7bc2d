"""Records are read as strictly as hostile input, and each refusal names the field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest

from wirefence.fuzz.store.typed_records import Bounds, as_content, decode_record, read_record


@dataclass(frozen=True)
class Inner:
    words: tuple[str, ...]


@dataclass(frozen=True)
class Outer:
    KEBAB: ClassVar = True

    at_least: Annotated[int, Bounds(least=0)]
    ratio: Annotated[float, Bounds(above=0, most=10)] = 1.0
    seed: int | Literal["date"] = "date"
    name: Annotated[str, Bounds(pattern="^a+$")] = "a"
    pair: Annotated[tuple[str, ...], Bounds(min_length=1, max_length=2)] = ("x",)
    table: dict[str, str | None] = field(default_factory=dict)
    inner: Inner | None = None


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"ratio": 2},
        {"seed": 3},
        {"pair": ["a", "b"]},
        {"table": {"a": None, "b": "c"}},
        {"inner": {"words": []}},
        {"inner": None},
    ],
)
def test_a_record_comes_back_as_it_was_written(change: dict[str, Any]) -> None:
    made = read_record({"at-least": 1, **change}, Outer)
    assert type(made.ratio) is float
    content = {**as_content(made), "pair": list(made.pair)}
    if made.inner:
        content["inner"] = {"words": list(made.inner.words)}
    assert read_record(content, Outer) == made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at-least": -1}, r"Expected `int` >= 0 - at `\$.at-least`"),
        ({"at-least": 1.0}, r"Expected `int`, got `float` - at `\$.at-least`"),
        ({"at-least": True}, r"Expected `int`, got `bool` - at `\$.at-least`"),
        ({"at_least": 1}, "Object contains unknown field `at_least`"),
        ({"ratio": 0}, r"Expected `float` > 0 - at `\$.ratio`"),
        ({"ratio": float("nan")}, r"Expected `float` > 0 - at `\$.ratio`"),
        ({"ratio": 11}, r"Expected `float` <= 10 - at `\$.ratio`"),
        ({"seed": "now"}, r"Invalid enum value 'now' - at `\$.seed`"),
        ({"seed": 1.5}, r"Expected `int . str`, got `float` - at `\$.seed`"),
        ({"name": "b"}, r"Expected `str` matching '\^a\+\$' - at `\$.name`"),
        ({"name": "\ud800"}, "surrogates not allowed"),
        ({"pair": []}, r"Expected `array` of length >= 1 - at `\$.pair`"),
        ({"pair": ["a"] * 3}, r"Expected `array` of length <= 2 - at `\$.pair`"),
        ({"pair": ["a", 1]}, r"Expected `str`, got `int` - at `\$.pair\[1\]`"),
        ({"table": {"a": 1}}, r"Expected `str . null`, got `int` - at `\$.table\[\.\.\.\]`"),
        ({"inner": {}}, r"Object missing required field `words` - at `\$.inner`"),
        ({"inner": []}, r"Expected `object . null`, got `array` - at `\$.inner`"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_record({"at-least": 1, **change}, Outer)


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'\xef\xbb\xbf{"words":[]}', b'{"words":NaN}', b'"\xff"', b"[" * 99_999],
)
def test_text_that_holds_no_record_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode_record(content, Inner)
