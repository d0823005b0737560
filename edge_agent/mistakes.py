"""Mistakes in settings, in words: the key or variable, what was expected, what was found."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

PREFIX, LEVEL = "EDGE_AGENT_", "__"
Place = tuple[int | str, ...]


def describe(error: ValidationError, source: Callable[[Place], str], root: type[BaseModel]) -> list[str]:
    """One line for each error; `source` names the file of a key, unless a variable set the value."""
    return [
        f"{_variable(details['loc']) or source(details['loc'])}: {_line(details, root)}"
        for details in error.errors(include_url=False)
    ]


def unknown_variables(root: type[BaseModel]) -> list[str]:
    """Variables with our prefix that set nothing, each with the nearest name that does.

    pydantic-settings ignores them.
    """
    known = [PREFIX + name.upper() for name in _names(root)]
    lines = []
    for variable in sorted(os.environ):
        if variable.upper().startswith(PREFIX) and variable.upper() not in known:
            close = _nearest(variable.upper(), known)
            advice = f"did you mean {close}?" if close else "see deploy/edge-agent.toml"
            lines.append(f"{variable}: no such setting; {advice}")
    return lines


def _names(section: type[BaseModel]) -> Iterator[str]:
    """The names of all settings, as variables write them, without the prefix."""
    for name, field in section.model_fields.items():
        yield name
        if inner := _section(field.annotation):
            yield from (f"{name}{LEVEL}{each}" for each in _names(inner))


def _section(annotation: Any) -> Any:
    """The table that a setting is, or None if it is a value."""
    return next((kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "model_fields")), None)


def _line(details: ErrorDetails, root: type[BaseModel]) -> str:
    key = ".".join(str(part) for part in details["loc"]) or "settings"
    if details["type"] == "extra_forbidden":
        return f"{key}: no such setting{_suggestion(details['loc'], root)}"
    if details["type"] == "missing":
        return f"{key}: expected a value, got none"
    found = details["input"]
    if details["type"] == "tuple_type":
        return f"{key}: expected a list" + (
            f"; write [[{key}]]" if isinstance(found, dict) else f" in [ ], got {found!r:.60}"
        )
    message = details["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    message = message.partition(", unable to parse")[0]
    message = message if "expected" in message else f"expected {message}"
    return f"{key}: {message}" + (f", got {found!r:.60}" if isinstance(found, str | int | float) else "")


def _variable(place: Place) -> str | None:
    """The variable that set a setting, if it was a variable."""
    names = (PREFIX + LEVEL.join(str(part) for part in place[:end]) for end in range(len(place), 0, -1))
    known = {name.upper(): name for name in os.environ}
    return next((known[name.upper()] for name in names if name.upper() in known), None)


def _suggestion(place: Place, root: type[BaseModel]) -> str:
    if len(place) > 1 and place[-1] in root.model_fields:
        return f"; write {place[-1]} above the first [section]"
    section: Any = root
    for part in place[:-1]:
        if part in section.model_fields:  # not the number in a list, nor the key of a map
            section = _section(section.model_fields[part].annotation)
    close = _nearest(str(place[-1]), section.model_fields)
    return f"; did you mean {close}?" if close else f"; known are {', '.join(section.model_fields)}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415 - without a mistake nobody needs it

    return next(iter(get_close_matches(name, known, 1)), None)
