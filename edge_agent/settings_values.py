"""The kinds of values that settings have, each with its own check."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from edge_agent.core.messages import is_sensor

Positive = Annotated[float, Field(gt=0, le=1e6)]
Count = Annotated[int, Field(gt=0)]


def _one_name(value: str) -> str:
    if not is_sensor(value):
        raise ValueError("expected 1-64 printable characters without / + #")
    return value


def _agent_topic(value: str) -> str:
    if value.split("/").count("{agent}") != 1:
        raise ValueError("expected a topic with {agent} as one of its levels")
    rest = value.replace("{agent}", "a", 1)
    if not rest.isprintable() or set(rest) & set("+#{}") or rest[0] == "$" or len(rest) > 256:
        raise ValueError("expected a topic without + # $ or other braces")
    return value


def _host(value: str) -> str:
    has_port = value.count(":") == 1  # an address of IPv6 has more
    if not value or not value.isprintable() or set(value) & set("/ @[]") or has_port:
        raise ValueError("expected a name or an address, without mqtt:// and without a port")
    try:
        value.encode("idna")  # as every connection does; its error would end the agent
    except UnicodeError:
        raise ValueError("expected a name without empty parts, and none over 63 letters") from None
    return value


def _one_topic(value: str) -> str:
    if not value or not value.isprintable() or set(value) & set("+#") or len(value) > 256:
        raise ValueError("expected one topic of printable characters, without + and #")
    return value


def _gas_topic(value: str) -> str:
    if value.split("/").count("{gas}") != 1:
        raise ValueError("expected a topic with {gas} as one of its levels")
    if set(rest := value.replace("{gas}", "a", 1)) & set("{}"):
        raise ValueError("expected no other braces than {gas}")
    _one_topic(rest)
    return value


# Not Field(pattern=...): as soon as there is one, the regular expressions of pydantic take 1 MB.
def _discovery_topic(value: str) -> str:
    if not re.fullmatch(r"[\w-]+(/[\w-]+)*", value) or len(value) > 128:
        raise ValueError("expected at most 128 letters, digits, - and _, with single slashes between them")
    return value


def _aqs_site(value: str) -> str:
    if not re.fullmatch("[0-9A-Z]{12}", value):
        raise ValueError("expected 12 digits or capital letters")
    return value


Host = Annotated[str, AfterValidator(_host)]
Name = Annotated[str, AfterValidator(_one_name)]
AgentTopic = Annotated[str, AfterValidator(_agent_topic)]
OneTopic = Annotated[str, AfterValidator(_one_topic)]
GasTopic = Annotated[str, AfterValidator(_gas_topic)]
DiscoveryTopic = Annotated[str, AfterValidator(_discovery_topic)]
AqsSite = Annotated[str, AfterValidator(_aqs_site)]
