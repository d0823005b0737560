"""A city's broker as deployed, and clients that log in to it."""

import os
import shutil
import ssl
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from deploy.demo.brokers import mosquitto
from deploy.demo.processes import Process, free_port, listening
from tests.support.broker import AT_MOST_S, wait_until
from tests.support.needs import require
from tests.support.processes import run_program, start

DEPLOY = Path(__file__).parents[2] / "deploy"
PORTS = (8883, 8884, 8885, 9001)
PEOPLE = ("consumer", "dashboard")


class City:
    """mosquitto with deploy/city.conf and deploy/city.acl; only ports and places differ."""

    def __init__(self, place: Path, authority: Path, certificate: str = "broker") -> None:
        require("mosquitto")
        place.mkdir()
        self.place, self.authority = place, authority
        self.ports = {port: free_port() for port in PORTS}
        text = (DEPLOY / "city.conf").read_text()
        for port, here in self.ports.items():
            assert f"\nlistener {port}\n" in text
            text = text.replace(f"\nlistener {port}\n", f"\nlistener {here} 127.0.0.1\n")
        text = text.replace("/etc/mosquitto/", f"{place}/").replace("/var/lib/mosquitto/", f"{place}/")
        (place / "mosquitto.conf").write_text(text + ("user root\n" if os.geteuid() == 0 else ""))
        for file in ("ca.pem", "revoked.pem"):
            shutil.copy(authority / file, place)
        for kind in ("pem", "key"):
            shutil.copy(authority / f"{certificate}.{kind}", place / f"broker.{kind}")
        shutil.copy(DEPLOY / "city.acl", place)
        (place / "passwords").touch()
        for user in PEOPLE:
            write = [mosquitto("mosquitto_passwd"), "-b", place / "passwords"]
            run_program([*write, user, f"{user}-pass"], check=True, capture_output=True)
        for file in ("passwords", "city.acl"):
            (place / file).chmod(0o600)
        self.process: Process | None = None
        self.start()

    def start(self) -> None:
        """Start it, or start it again."""
        with (self.place / "log").open("ab") as log:
            self.process = start([mosquitto(), "-c", self.place / "mosquitto.conf"], stderr=log)
        wait_until(lambda: all(listening(port) for port in self.ports.values()), what="the city's broker")

    def stop(self) -> None:
        """Stop it as an operator would."""
        assert self.process
        self.process.terminate()
        self.process.wait(AT_MOST_S)

    def context(self, name: str | None, authority: Path | None = None) -> ssl.SSLContext:
        """What a client with the certificate of `name` needs, as strict as Python 3.13 is by itself."""
        context = ssl.create_default_context(cafile=self.authority / "ca.pem")
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        if name:
            at = authority or self.authority
            context.load_cert_chain(at / f"{name}.pem", at / f"{name}.key")
        return context


class Guest:
    """A client of MQTT 5, because there the broker says what it refuses."""

    def __init__(
        self, city: City, port: int, context: ssl.SSLContext, client_id: str = "", user: str | None = None
    ) -> None:
        self.answers: list[str] = []
        self.heard: list[str] = []
        self.verdicts: list[str] = []
        self.granted: list[str] = []
        self.lost: list[str] = []
        self._port = city.ports[port]
        self.client = Client(CallbackAPIVersion.VERSION2, client_id=client_id, protocol=MQTTv5)
        self.client.tls_set_context(context)
        self.client.username_pw_set(user, f"{user}-pass" if user else None)
        self.client.on_connect = lambda *told: self.answers.append(str(told[3]))
        self.client.on_disconnect = self._on_disconnect
        self.client.on_message = self._on_message
        self.client.on_publish = lambda *told: self.verdicts.append(str(told[3]))
        self.client.on_subscribe = lambda *told: self.granted.append(str(told[3]))

    def _on_disconnect(self, *told: object) -> None:
        self.lost.append(str(told[3]))

    def _on_message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        self.heard.append(message.topic)

    def connect(self, keep_s: int = 0) -> str:
        """The broker's answer, or that the handshake failed; the session is kept for `keep_s` seconds."""
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = keep_s
        try:
            self.client.connect("localhost", self._port, clean_start=not keep_s, properties=properties)
        except (OSError, ssl.SSLError) as error:
            return type(error).__name__
        self.client.loop_start()
        # TLS 1.3 reports a bad certificate after the handshake, as a lost connection.
        wait_until(lambda: self.answers or self.lost, what="an answer")
        return self.answers[-1] if self.answers else "SSLError"

    def say(self, topic: str, payload: str = "forged", retain: bool = False) -> str:
        """What the broker says to it."""
        said = len(self.verdicts)
        self.client.publish(topic, payload, qos=1, retain=retain)
        wait_until(lambda: len(self.verdicts) > said, what=topic)
        return self.verdicts[-1]

    def listen(self, topic: str) -> None:
        """Subscribe, and wait for the broker's answer."""
        before = len(self.granted)
        self.client.subscribe(topic, qos=1)
        wait_until(lambda: len(self.granted) > before, what=topic)

    def leave(self) -> None:
        """Disconnect."""
        self.client.disconnect()
        self.client.loop_stop()
