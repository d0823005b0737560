"""Settings from EDGE_AGENT_… variables: EDGE_AGENT_BROKER__PORT sets `port` in the table `broker`.

pydantic-settings would do this, too. It also loads readers of command lines and of four clouds, in 1.3 MB.
"""

import json
import os
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from edge_agent.core.errors import BadSettings
from edge_agent.mistakes import LEVEL, PREFIX


def override(table: dict[str, Any], root: type[BaseModel]) -> None:
    """Set in a table what variables set; case does not matter. Those that begin no setting are ignored."""
    # A variable for a whole table comes before those for its keys, which override it.
    for variable in sorted(os.environ, key=str.upper):
        keys = variable[len(PREFIX) :].lower().split(LEVEL)
        if variable.upper().startswith(PREFIX) and keys[0] in root.model_fields:
            value: Any = _value(variable, _annotation(root, keys))
            for key in reversed(keys):
                value = {key: value}
            _merge(table, value)


def _annotation(root: type[BaseModel], keys: list[str]) -> Any:
    """The type of a setting; None for a key of a map, or if there is no such setting."""
    kind: Any = root
    for key in keys:
        sections = (each for each in (kind, *get_args(kind)) if hasattr(each, "model_fields"))
        field = next((each.model_fields.get(key) for each in sections), None)
        kind = field.annotation if field else None
    return kind


def _value(variable: str, annotation: Any) -> Any:
    """The text of a variable; a list or a table is JSON."""
    text, kinds = os.environ[variable], (annotation, *get_args(annotation))
    if not any(get_origin(kind) in (tuple, dict) or hasattr(kind, "model_fields") for kind in kinds):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"{variable}: {error}; lists and tables are written as JSON") from error


def _merge(table: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(inner := table.get(key), dict):
            _merge(inner, value)
        else:
            table[key] = value
