"""What is wrong with a value in a file, in hone's words instead of pydantic's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import ErrorDetails

from dbhone.errors import UsageError
from dbhone.units import parse_size

_WHOLE = "write a whole number, without quotes"
_TABLE = "write a table, such as {{ {keys} }}"
_TEXT = "write a text, in quotes"
_YES_OR_NO = "write true or false, without quotes"
_WORDS = {
    "string_too_short": "it is empty",
    "too_short": "give {min_length} or more, not {actual_length}",
    "too_long": "give {max_length} at most, not {actual_length}",
    "greater_than": "it must be above {gt}",
    "greater_than_equal": "it must be {ge} or more",
    "less_than": "it must be below {lt}",
    "less_than_equal": "it must be {le} at most",
    "finite_number": "write a finite number",
    "float_type": "write a number, without quotes",
    "float_parsing": "write a number, without quotes",
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "string_type": _TEXT,
    "bool_type": _YES_OR_NO,
    "bool_parsing": _YES_OR_NO,
    "dict_type": _TABLE,
    "model_type": _TABLE,
    "model_attributes_type": _TABLE,
    "literal_error": "write one of {expected}",
    "enum": "write one of {expected}",
}
"""By the type of pydantic's error; in braces the values that come with it."""


def in_words(error: ErrorDetails, keys: tuple[str, ...] = ()) -> str:
    """Return what is wrong with a value; ``keys`` are those that a table in its place would have.

    What is not foreseen is told as pydantic tells it.
    """
    words = _WORDS.get(error["type"])
    if words is not None:
        shown = ", ".join(f"{key} = …" for key in keys[:2] or ("key",))
        return words.format(**{"keys": shown, **error.get("ctx", {})})
    message = error["msg"].removeprefix("Value error, ")
    return f"{message[0].lower()}{message[1:]}"


def parsed(value: object, parse: Callable[[str], float], wanted: str) -> float:
    """Return what a text in a file means. Raises ValueError, as pydantic expects, for any other."""
    if not isinstance(value, str):
        raise ValueError(f"write it as {wanted}, in quotes")
    try:
        return parse(value)
    except UsageError as error:
        raise ValueError(
            f"{error.message}: {error.hint}" if error.hint else error.message
        ) from None


def _size(value: object) -> object:
    return parsed(value, parse_size, "a size such as 256M")


Size = Annotated[int, BeforeValidator(_size, json_schema_input_type=str)]
"""A number of bytes, which a file has as a text."""
