"""Two vans on a city's broker as deployed: each has its own subtree and its own session, and nothing else."""

import json
import shutil
import ssl
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from edge_agent.archive import newest_health
from edge_agent.cli import main
from edge_agent.core import bundle
from edge_agent.core.errors import BrokerUnavailable, JournalUnavailable
from edge_agent.mqtt import Address, log_in
from tests.conftest import make_model
from tests.support.agents import QUICK, publish, readings
from tests.support.authority import certify, make_authority, recipe, run_commands
from tests.support.broker import AT_MOST_S, AgentProcess, Broker, client, wait_until
from tests.support.city import City, Guest
from tests.support.processes import run_program

VAN = "respire/van-1"
CO = f"{VAN}/calibrated/5A2D/co"

WRITES = [
    (f"{VAN}/status", "offline"),
    (f"{VAN}/status", ""),
    (f"{VAN}/health", "{}"),
    (f"{VAN}/position", "{}"),
    (CO, "{}"),
    (f"{CO}/latest", "{}"),
    (f"{CO}/1h", "{}"),
    (f"{VAN}/calibrated/5A2D/model", ""),
    (f"{VAN}/request", '{"id": "a", "sensor": "5A2D"}'),
    (f"{VAN}/response/q7", "{}"),
]
READS = [f"{VAN}/#", "#", "respire/#", "+/+/calibrated/#", CO, f"{VAN}/response/+", f"$share/all/{VAN}/#"]
EVICTIONS = [  # port, certificate, client id, user
    (8883, "van-2", "van-1", None),
    (8883, "van-2", "respire-van-1", "van-1"),
    (8884, "van-2", "van-1", None),
    (8885, None, "van-1", "consumer"),
    (8885, None, "van-1", "van-1"),
    (8883, "stranger", "respire-van-1", "van-1"),
    (8883, None, "respire-van-1", "van-1"),
]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_authority(tmp_path_factory.mktemp("certificates"), "van-2")


@pytest.fixture
def city(tmp_path: Path, authority: Path) -> Iterator[City]:
    broker = City(tmp_path / "city", authority)
    yield broker
    broker.stop()


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """Somebody else's authority, which has made a certificate for van-1."""
    place = make_authority(tmp_path / "stranger")
    for kind in ("pem", "key"):
        (place / f"van-1.{kind}").rename(place / f"stranger.{kind}")
    return place


def van(city: City, name: str, port: int = 8883, client_id: str = "") -> Guest:
    return Guest(city, port, city.context(name), client_id or f"respire-{name}")


def test_24_attempts_to_write_read_or_evict_another_van_fail(city: City, stranger: Path) -> None:
    """10 writes, 7 reads and 7 evictions, the last also while the van is away and its messages wait."""
    assert len(WRITES) + len(READS) + len(EVICTIONS) == 24
    mine, thief = van(city, "van-1"), van(city, "van-2")
    consumer = Guest(city, 8885, city.context(None), user="consumer")
    assert [mine.connect(keep_s=3600), thief.connect(), consumer.connect()] == ["Success"] * 3
    mine.listen(f"{VAN}/request")
    consumer.listen("respire/#")

    for topic, payload in WRITES:
        assert thief.say(topic, payload, retain=True) == "Not authorized", topic
    for pattern in READS:
        thief.listen(pattern)
    told = [f"{VAN}/status", CO, f"{CO}/score", f"{VAN}/consensus/co", f"{VAN}/alert/5A2D/high"]
    said = [*told, f"{VAN}/response/q7", f"{VAN}/health"]
    assert [mine.say(topic, "true") for topic in said] == ["Success"] * 7
    # Its own messages come after those of van-1 would have come.
    assert thief.say("respire/van-2/status", "online") == "Success"
    wait_until(lambda: thief.heard and "respire/van-2/status" in consumer.heard, what="the last message")
    assert {*thief.heard} == {"respire/van-2/status"}
    assert consumer.heard == [*told, f"{VAN}/health", "respire/van-2/status"]

    assert evicting(city, stranger) == (True, [])
    assert mine.lost == []
    mine.leave()
    dashboard = Guest(city, 8885, city.context(None), user="dashboard")
    assert dashboard.connect() == "Success"
    assert {dashboard.say(f"{VAN}/request", str(number)) for number in range(50)} == {"Success"}
    assert evicting(city, stranger) == (True, [])
    back = van(city, "van-1")
    assert back.connect(keep_s=3600) == "Success"
    wait_until(lambda: len(back.heard) >= 50, what="the requests that waited")
    for guest in (thief, consumer, dashboard, back):
        guest.leave()


def evicting(city: City, stranger: Path) -> tuple[bool, list[str]]:
    """Try all; whether every client with another's id was refused or renamed, and what they heard."""
    heard: list[str] = []
    answers = []
    for port, certificate, client_id, user in EVICTIONS:
        context = city.context(certificate, stranger if certificate == "stranger" else None)
        guest = Guest(city, port, context, client_id, user)
        answers.append(guest.connect())
        if answers[-1] == "Success":
            guest.listen(f"{VAN}/#")
        heard += guest.heard
        guest.leave()
    # The second has a certificate and an id that are allowed: it is van-2, whatever it says.
    return [answer == "Success" for answer in answers] == [n == 1 for n in range(7)], heard


def test_names_that_are_wildcards_get_nothing(city: City, authority: Path) -> None:
    """%u with + or # in the name of a certificate must not become a wildcard."""
    mine = van(city, "van-1")
    assert mine.connect() == "Success"
    for number, name in enumerate(("\\+", "#")):
        file = f"odd-{number}"
        [made] = [part for part in recipe()[0].split("\n\n") if "-extensions van" in part]
        run_commands(made.replace("van-1", file).replace(f"/CN={file}", f"/CN={name}"), authority)
        thief = van(city, file)
        if thief.connect() != "Success":
            continue
        thief.listen("#")
        assert thief.say(f"{VAN}/status", "forged") == "Not authorized", name
        assert mine.say(f"{VAN}/status", "true") == "Success"
        assert thief.say(f"{VAN}/calibrated/5A2D/co", "forged") == "Not authorized", name
        assert thief.heard == [], name
        thief.leave()
    assert mine.lost == []
    mine.leave()


def test_a_revoked_certificate_is_refused(tmp_path: Path, authority: Path) -> None:
    """As documented for a stolen van."""
    certify("stolen", authority)
    city = City(tmp_path / "city", authority)
    stolen = van(city, "stolen")
    assert stolen.connect() == "Success"
    stolen.leave()
    run_commands(recipe()[1].replace("van-1", "stolen"), authority)
    city.stop()
    (city.place / "revoked.pem").write_bytes((authority / "revoked.pem").read_bytes())
    city.start()
    assert van(city, "stolen").connect() == "SSLError"
    assert van(city, "van-2").connect() == "Success"
    city.stop()


def test_an_agent_works_with_the_city_and_its_own_questions_do_not_evict_it(
    tmp_path: Path, city: City, broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    """Readings in the van, estimates in the city; `status --broker` and `check` leave the session alone."""
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "5A2D.bundle").write_bytes(bundle.encode(make_model()))
    files = f'ca_file = "{city.authority}/ca.pem"\ncertificate_file = "{city.authority}/van-1.pem"\n'
    ports = f"port = {city.ports[8883]}\nstatus_port = {city.ports[8884]}\n"
    uplink = (
        f'[uplink]\nhost = "localhost"\ntls = true\n{ports}{files}key_file = "{city.authority}/van-1.key"\n'
    )
    agent = AgentProcess(tmp_path / "agent", broker.port, tmp_path / "bundles", QUICK + uplink).start()
    agent.wait_for("broker.connected", 2)
    consumer = Guest(city, 8885, city.context(None), user="consumer")
    consumer.connect()
    consumer.listen("respire/+/calibrated/+/co")
    with client(broker) as sensor:
        publish(sensor, readings(minutes=17, sensors=("5A2D",)))
        wait_until(lambda: consumer.heard == [CO], what="an estimate in the city")
    wait_until(lambda: main(["status", "--broker", "--config", str(agent.config)]) == 0, what="status")
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["agent"] == "van-1"
    wait_until(lambda: main(["check", "--config", str(agent.config)]) == 0, what="check")
    assert agent.events("broker.lost") == 0
    consumer.leave()
    agent.stop()


def test_a_renewed_certificate_is_loaded_and_its_end_is_in_health(
    tmp_path: Path, city: City, authority: Path, broker: Broker
) -> None:
    """One that ends in 20 days is a problem; a bad copy changes nothing; the new one serves later."""
    (tmp_path / "bundles").mkdir()
    certify("van-3", authority, "-days 20")
    for kind in ("pem", "key"):
        shutil.copy(authority / f"van-3.{kind}", tmp_path)
    uplink = f'''[uplink]
host = "localhost"
port = {city.ports[8883]}
tls = true
ca_file = "{authority}/ca.pem"
certificate_file = "{tmp_path}/van-3.pem"
key_file = "{tmp_path}/van-3.key"
'''
    agent = AgentProcess(tmp_path / "agent", broker.port, tmp_path / "bundles", QUICK + uplink)
    agent.config.write_text(agent.config.read_text().replace("van-1", "van-3"))
    agent.start()
    agent.wait_for("broker.connected", 2)
    wait_until(lambda: problems(agent) == ["certificate_expiring"], what="the problem")
    (tmp_path / "van-3.pem").write_text("cut short")
    agent.wait_for("certificate.refused")
    certify("van-3", authority)
    for kind in ("pem", "key"):
        shutil.copy(authority / f"van-3.{kind}", tmp_path)
    agent.wait_for("certificate.loaded")
    wait_until(lambda: problems(agent) == [], what="no problem")
    serial = run_program(
        ["openssl", "x509", "-in", authority / "van-3.pem", "-noout", "-enddate"],
        capture_output=True,
        text=True,
    )
    ends = datetime.strptime(serial.stdout.strip(), "notAfter=%b %d %H:%M:%S %Y GMT")
    told = json.loads(newest_health(agent.state))
    assert told["certificates"] == {"uplink": f"{ends.isoformat()}Z"}
    city.stop()
    agent.wait_for("broker.lost")
    city.start()
    agent.wait_for("broker.connected", 3)
    agent.stop()


def problems(agent: AgentProcess) -> list[str] | None:
    """In the newest health in the journal; None before there is any."""
    with suppress(JournalUnavailable):
        return [problem["code"] for problem in json.loads(newest_health(agent.state))["problems"]]
    return None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paho drops its socket there
@pytest.mark.parametrize(
    ("days", "words"), [(-1, "certificate has expired"), (1, "certificate is not yet valid")]
)
def test_a_certificate_out_of_its_time_names_the_clock(
    tmp_path: Path, authority: Path, days: int, words: str
) -> None:
    """As on a gateway whose clock is wrong: the broker's certificate was or will be valid for a day."""
    now = datetime.now(UTC)
    begin, end = sorted((now + timedelta(days=days), now + timedelta(days=2 * days)))
    stamps = f"-startdate {begin:%Y%m%d%H%M%SZ} -enddate {end:%Y%m%d%H%M%SZ}"
    [made] = [part for part in recipe()[0].split("\n\n") if "-extensions broker" in part]
    made = made.replace("city.example", "localhost").replace("-batch", f"-batch {stamps}")
    run_commands(made.replace("broker.", "untimely."), authority)
    city = City(tmp_path / "city", authority, certificate="untimely")
    address = Address("localhost", city.ports[8885], "respire-x", tls=city.context(None))
    with pytest.raises(BrokerUnavailable) as caught:
        log_in(address, AT_MOST_S)
    said = [
        f"certificate verify failed: {words}; the clock of this gateway says {today:%Y-%m-%d}"
        for today in (now, datetime.now(UTC))
    ]
    assert any(each in str(caught.value) for each in said)
    city.stop()


def test_the_certificates_satisfy_python_3_13(city: City) -> None:
    """Its default is VERIFY_X509_STRICT, which needs key identifiers and usages."""
    assert city.context(None).verify_flags & ssl.VERIFY_X509_STRICT
    assert Guest(city, 8885, city.context(None), user="consumer").connect() == "Success"
