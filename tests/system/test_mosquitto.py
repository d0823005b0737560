"""The van's broker as deployed: the agent works with it, and nobody can say what is not theirs to say."""

import json
import os
import pwd
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from deploy.demo.brokers import mosquitto
from deploy.demo.processes import free_port, listening
from edge_agent.cli import main
from edge_agent.core import bundle
from edge_agent.core.messages import decode_estimate
from edge_agent.core.topics import CONSENSUS, OwnTopics
from edge_agent.settings import Settings
from tests.conftest import make_model
from tests.support.agents import QUICK, readings
from tests.support.broker import AT_MOST_S, AgentProcess, wait_until
from tests.support.needs import require
from tests.support.processes import run_program, start

DEPLOY = Path(__file__).parents[2] / "deploy"
OWN = OwnTopics("respire/van-1")
PUBLISHED = (
    OWN.health,
    OWN.position,
    OWN.estimate("5A2D"),
    OWN.latest("5A2D"),
    OWN.series("5A2D/8h"),
    OWN.model("5A2D"),
    OWN.score("5A2D"),
    OWN.series(CONSENSUS),
    OWN.alert("5A2D", "high"),
    OWN.response("q7"),
)
USERS = ("van-1", "5A2D", "gps", "consumer", "dashboard")


class Deployed:
    """mosquitto with the deployed files; only ports and places differ, and the dashboard is let in."""

    def __init__(self, place: Path) -> None:
        require("mosquitto")
        self.port, self.status_port, self.websockets = free_port(), free_port(), free_port()
        text = (DEPLOY / "mosquitto.conf").read_text()
        for ours, here in {
            "listener 1883 ": f"listener {self.port} ",
            "listener 1884 ": f"listener {self.status_port} ",
            "#listener 9001": f"listener {self.websockets} 127.0.0.1",
            "#protocol websockets": "protocol websockets",
            "#clientid_prefixes": "clientid_prefixes",
            "#auto_id_prefix": "auto_id_prefix",
            "/etc/mosquitto/": f"{place}/",
            "/var/lib/mosquitto/": f"{place}/",
        }.items():
            assert ours in text, ours
            text = text.replace(ours, here)
        (place / "mosquitto.conf").write_text(text + ("user root\n" if os.geteuid() == 0 else ""))
        (place / "mosquitto.acl").write_text((DEPLOY / "mosquitto.acl").read_text())
        for number, user in enumerate(USERS):
            create = ("-c",) if number == 0 else ()
            write = [mosquitto("mosquitto_passwd"), *create, "-b", place / "passwords"]
            run_program([*write, user, f"{user}-pass"], check=True)
        for secret in ("passwords", "mosquitto.acl"):
            (place / secret).chmod(0o600)
        self.process = start([mosquitto(), "-c", place / "mosquitto.conf"])
        ports = self.port, self.status_port, self.websockets
        wait_until(lambda: all(map(listening, ports)), what="mosquitto")

    @contextmanager
    def user(self, name: str, topic: str = "", websockets: bool = False) -> Iterator["User"]:
        """Somebody logged in, and hearing a topic."""
        user = User(name, topic, "websockets" if websockets else "tcp")
        user.client.connect("127.0.0.1", self.websockets if websockets else self.port)
        user.client.loop_start()
        try:
            wait_until(lambda: user.ready, what=name)
            yield user
        finally:
            user.client.disconnect()
            user.client.loop_stop()


class User:
    """A client of MQTT 5, because there the broker tells what it refuses."""

    def __init__(self, name: str, topic: str, transport: str) -> None:
        self.heard: list[bytes] = []
        self.ready = False
        self.verdicts: list[ReasonCode] = []
        self._topic = topic
        self.client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5, transport=transport)  # type: ignore[arg-type]
        self.client.username_pw_set(name, f"{name}-pass")
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = lambda *_: setattr(self, "ready", True)
        self.client.on_message = lambda *message: self.heard.append(message[2].payload)
        self.client.on_publish = lambda *told: self.verdicts.append(told[3])

    def _on_connect(self, client: Client, *_: object) -> None:
        if self._topic:
            client.subscribe(self._topic, qos=1)
        else:
            self.ready = True

    def say(self, topic: str, payload: str = "1") -> str:
        """What the broker thinks of it."""
        said = len(self.verdicts)
        self.client.publish(topic, payload, qos=1)
        wait_until(lambda: len(self.verdicts) > said, what=topic)
        return str(self.verdicts[-1])


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployed]:
    place = tmp_path / "mosquitto"
    place.mkdir()
    broker = Deployed(place)
    yield broker
    broker.process.terminate()
    broker.process.wait(AT_MOST_S)


@pytest.fixture
def agent(tmp_path: Path, deployed: Deployed) -> Iterator[AgentProcess]:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    (tmp_path / "password").write_text("van-1-pass\n")
    process = AgentProcess(tmp_path / "agent", deployed.port, tmp_path / "bundles", QUICK)
    with process.config.open("a") as config:
        config.write(f'status_port = {deployed.status_port}\nusername = "van-1"\n')
        config.write(f'password_file = "{tmp_path}/password"\n')
    process.start()
    process.wait_for("broker.connected")
    yield process
    process.stop()


def test_readings_become_estimates_for_those_who_may_hear_them(
    deployed: Deployed, agent: AgentProcess
) -> None:
    """The whole way: a sensor speaks, a consumer hears, the dashboard asks over WebSockets."""
    with (
        deployed.user("5A2D") as sensor,
        deployed.user("consumer", "respire/van-1/calibrated/+/co") as consumer,
        deployed.user("dashboard", "respire/+/response/+", websockets=True) as page,
    ):
        for reading in readings(minutes=16, sensors=("5A2D",)):
            payload = json.dumps({"value": reading.value, "at": reading.at_ms})
            sensor.client.publish(f"sensors/5A2D/{reading.channel}", payload, qos=1)
        wait_until(lambda: consumer.heard, what="an estimate")
        assert decode_estimate(consumer.heard[0]).value is not None
        assert page.say("respire/van-1/request", '{"id": "a", "sensor": "5A2D"}') == "Success"
        wait_until(lambda: page.heard, what="an answer")
        assert json.loads(page.heard[0])["estimate"] == json.loads(consumer.heard[0])


def test_the_vans_own_user_may_ask_the_broker_for_its_status(
    agent: AgentProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither `status --broker` nor `check` disconnects the agent, although they have the same user."""
    wait_until(lambda: main(["status", "--broker", "--config", str(agent.config)]) == 0, what="status")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["agent"] == "van-1"
    wait_until(lambda: main(["check", "--config", str(agent.config)]) == 0, what="check")
    assert agent.events("broker.lost") == 0


def test_nobody_can_take_over_the_session_of_the_agent(deployed: Deployed, agent: AgentProcess) -> None:
    """Whatever client id a sensor, a consumer or the dashboard sends: the readings that wait stay."""
    agent.stop()
    with deployed.user("5A2D") as sensor:
        for reading in readings(minutes=16, sensors=("5A2D",)):
            payload = json.dumps({"value": reading.value, "at": reading.at_ms})
            sensor.client.publish(f"sensors/5A2D/{reading.channel}", payload, qos=1)
        wait_until(lambda: len(sensor.verdicts) == 48, what="the readings")
    for name, port in (
        ("5A2D", deployed.port),
        ("consumer", deployed.status_port),
        ("dashboard", deployed.websockets),
        ("van-1", deployed.status_port),
    ):
        for client_id in ("van-1", "respire-van-1"):
            knock(name, port, client_id, "websockets" if port == deployed.websockets else "tcp")
    agent.start()
    agent.wait_for("window.closed")
    agent.wait_for("broker.connected", 2)
    assert '"session": "resumed"' in agent.log.read_text()


def knock(name: str, port: int, client_id: str, transport: str) -> None:
    """Log in with a client id and a new session, and leave again."""
    answers: list[ReasonCode] = []
    guest = Client(CallbackAPIVersion.VERSION2, client_id=client_id, transport=transport)  # type: ignore[arg-type]
    guest.username_pw_set(name, f"{name}-pass")
    guest.on_connect = lambda *told: answers.append(told[3])
    guest.connect("127.0.0.1", port)
    guest.loop_start()
    wait_until(lambda: answers, what=name)
    guest.disconnect()
    guest.loop_stop()


def test_people_hear_everything_that_is_published_for_them(deployed: Deployed) -> None:
    """Also the consensus, the alerts and the scores; what answers a request is for the dashboard alone."""
    with (
        deployed.user("consumer", "respire/#") as consumer,
        deployed.user("dashboard", "respire/#") as page,
        deployed.user("van-1") as agent,
    ):
        for topic in PUBLISHED:
            assert agent.say(topic, topic) == "Success"
        assert agent.say(OWN.status, "last") == "Success"
        wait_until(lambda: all(user.heard[-1:] == [b"last"] for user in (consumer, page)), what="the last")
        assert page.heard == [*(topic.encode() for topic in PUBLISHED), b"last"]
        assert consumer.heard == [heard for heard in page.heard if b"/response/" not in heard]


def test_nobody_can_say_what_is_not_theirs(deployed: Deployed) -> None:
    forged = '{"v": 1, "value": 0}'
    with deployed.user("consumer", "respire/van-1/calibrated/#") as consumer:
        with deployed.user("5A2D") as sensor:
            assert sensor.say("respire/van-1/calibrated/5A2D/co", forged) == "Not authorized"
            assert sensor.say("sensors/5CB6/op1") == "Not authorized"
            assert sensor.say("respire/van-1/status", "offline") == "Not authorized"
            assert sensor.say("sensors/5A2D/op1") != "Not authorized"
            assert sensor.say("van/position") == "Not authorized"
        with deployed.user("van-1", "van/position") as agent, deployed.user("gps") as receiver:
            assert receiver.say("sensors/5A2D/op1") == "Not authorized"
            receiver.say("van/position", "here")
            wait_until(lambda: agent.heard == [b"here"])
        assert consumer.say("respire/van-1/calibrated/5A2D/co", forged) == "Not authorized"
        assert consumer.say("respire/van-1/request") == "Not authorized"
        with deployed.user("dashboard") as page:
            assert page.say("respire/van-1/calibrated/5A2D/co", forged) == "Not authorized"
        with deployed.user("van-1") as agent:
            assert agent.say("sensors/5A2D/op1") == "Not authorized"
            agent.say("respire/van-1/calibrated/5A2D/co", '{"v": 1, "true": 1}')
        wait_until(lambda: consumer.heard)
        assert consumer.heard == [b'{"v": 1, "true": 1}']


def test_a_stranger_is_not_let_in(deployed: Deployed) -> None:
    codes: list[ReasonCode] = []
    stranger = Client(CallbackAPIVersion.VERSION2)
    stranger.on_connect = lambda *told: codes.append(told[3])
    stranger.connect("127.0.0.1", deployed.port)
    stranger.loop_start()
    wait_until(lambda: codes)
    stranger.disconnect()
    stranger.loop_stop()
    assert [str(code) for code in codes] == ["Not authorized"]


def test_without_tls_it_listens_only_on_the_gateway() -> None:
    """As shipped, and with the marks taken away: whatever is not on loopback has a certificate."""
    for file in ("mosquitto.conf", "city.conf"):
        text = (DEPLOY / file).read_text()
        for block in re.split(r"^#?listener ", text, flags=re.MULTILINE)[1:]:
            where = block.partition("\n")[0]
            assert where.endswith(" 127.0.0.1") or re.search(r"^#?certfile ", block, re.MULTILINE), where
    lines = [
        line for line in (DEPLOY / "mosquitto.conf").read_text().splitlines() if line.startswith("listener")
    ]
    assert lines == ["listener 1883 127.0.0.1", "listener 1884 127.0.0.1"]


def test_the_broker_starts_as_its_own_user_with_the_files_of_the_comments(tmp_path: Path) -> None:
    """mosquitto_passwd of 2.0.21 makes a file that only root can read; then the broker does not start."""
    require("mosquitto", "root")
    if not any(user.pw_name == "mosquitto" for user in pwd.getpwall()):
        pytest.skip("there is no user mosquitto")
    text = (DEPLOY / "mosquitto.conf").read_text()
    comments = re.findall(r"^#   (\w.*)$", text, re.MULTILINE)
    make, own, protect = [line.partition("      ")[0] for line in comments]
    place = Path(tempfile.mkdtemp(prefix="mosquitto-", dir="/tmp"))
    try:
        place.chmod(0o755)
        port = free_port()
        text = text.replace("listener 1883", f"listener {port}").replace(
            "listener 1884", f"listener {free_port()}"
        )
        text = text.replace("/etc/mosquitto/", f"{place}/").replace("persistence true", "persistence false")
        (place / "mosquitto.conf").write_text(text)
        (place / "mosquitto.acl").write_text((DEPLOY / "mosquitto.acl").read_text())
        program = str(mosquitto("mosquitto_passwd"))
        make = make.replace("mosquitto_passwd -c", f"{program} -c -b") + " van-1-pass"
        commands = "\n".join(("umask 077", make, own, protect)).replace("/etc/mosquitto", str(place))
        done = run_program(["sh", "-ec", commands], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with (place / "log").open("wb") as log:
            process = start([mosquitto(), "-c", place / "mosquitto.conf"], stderr=log)
        wait_until(lambda: listening(port) or process.poll() is not None, what="mosquitto")
        told = (place / "log").read_text()
        assert (process.poll(), "arning" in told, "rror" in told) == (None, False, False), told
        process.terminate()
        process.wait(AT_MOST_S)
    finally:
        shutil.rmtree(place)


def test_the_brokers_numbers_fit_the_agents() -> None:
    lines = dict(
        line.split(maxsplit=1)
        for line in (DEPLOY / "mosquitto.conf").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert int(lines["max_inflight_messages"]) >= Settings().journal.commit_messages
    assert int(lines["message_size_limit"]) >= Settings().limits.max_payload_bytes
