"""From settings to connections: addresses, secrets and TLS, with clear errors."""

import os
from collections.abc import Callable
from dataclasses import replace

from edge_agent.inbox import Inbox
from edge_agent.mqtt import Address, Connection
from edge_agent.settings import Broker, Settings, secret
from edge_agent.tls import Certificates, make_context


def connections(
    settings: Settings, inbox: Inbox[Connection], elapsed_ms: Callable[[], int]
) -> tuple[Connection, Connection]:
    """The connection for readings and the one for estimates; they are the same without an uplink.

    The will ("offline") belongs to the connection that publishes "online": the one for estimates.
    """
    will = settings.own_topics.status, b"offline"
    local = address(settings.broker, settings.agent)
    if settings.uplink is None:
        both = Connection(local, will, inbox, elapsed_ms)
        return both, both
    far = Connection(address(settings.uplink, settings.agent), will, inbox, elapsed_ms)
    return Connection(local, None, inbox, elapsed_ms), far


def certificates(settings: Settings, ingress: Connection, egress: Connection) -> list[Certificates]:
    """The TLS files of the brokers that have some."""
    both = (("broker", settings.broker, ingress), ("uplink", settings.uplink, egress))
    return [Certificates(name, of, to.address.tls) for name, of, to in both if of and to.address.tls]


def needs_systemd(broker: Broker) -> bool:
    """Whether the password is a credential that only the service can read."""
    file = broker.password_file
    credential = file and not file.is_absolute() and not os.access(file, os.F_OK)
    return bool(credential) and "CREDENTIALS_DIRECTORY" not in os.environ


def beside(broker: Broker, agent: str) -> Address:
    """The address for a second connection, which must not take over the session of the agent."""
    return replace(address(broker, agent), port=broker.status_port or broker.port)


def address(broker: Broker, agent: str) -> Address:
    """The address of a broker in the settings."""
    host, port, client_id = broker.session(agent)
    return Address(
        host=host,
        port=port,
        client_id=client_id,
        version=broker.protocol,
        keepalive_s=broker.keepalive_s,
        username=broker.username,
        password=secret(broker.password_file) if broker.password_file else None,
        tls=make_context(broker) if broker.tls else None,
    )
