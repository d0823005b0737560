"""From settings to connections: addresses, secrets and TLS, with clear errors."""

import os
import ssl
from collections.abc import Callable
from dataclasses import replace

from edge_agent.core.errors import BadSettings
from edge_agent.mqtt import Address, Connection, Inbox
from edge_agent.settings import Broker, Settings, secret


def connections(
    settings: Settings, inbox: Inbox, elapsed_ms: Callable[[], int]
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
        tls=_tls(broker) if broker.tls else None,
    )


def _tls(broker: Broker) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=broker.ca_file)
        if broker.certificate_file and broker.key_file:
            context.load_cert_chain(broker.certificate_file, broker.key_file)
    except OSError as error:
        files = ", ".join(
            str(file) for file in (broker.ca_file, broker.certificate_file, broker.key_file) if file
        )
        raise BadSettings(f"{files}: {error.strerror or error}; expected PEM certificates") from error
    return context
