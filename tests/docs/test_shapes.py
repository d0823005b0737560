"""Messages of other makers' boards become readings with the settings that docs/operations.md shows."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from edge_agent.core.errors import BadReading
from edge_agent.core.messages import UNSTAMPED, Reading
from edge_agent.settings import Settings

TEXT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
SHAPES = TEXT.split("## Boards of other makers")[1].split("\n## ")[0]
AT_MS = 1_706_782_530_000

TASMOTA = {
    "Time": "2024-02-01T10:15:30",
    "ADS1115": {"A0": 1_852, "A1": 1_648, "A2": 3, "A3": 2},
    "DS18B20": {"Id": "3C01B556A9C2", "Temperature": 24.3},
    "TempUnit": "C",
}
THE_THINGS_STACK = {
    "end_device_ids": {
        "device_id": "co-board-7",
        "application_ids": {"application_id": "van"},
        "dev_eui": "0004A30B001C0530",
        "dev_addr": "260B1F7A",
    },
    "correlation_ids": ["gs:uplink:01HNJX4Q"],
    "received_at": "2024-02-01T10:15:30.000412345Z",
    "uplink_message": {
        "f_port": 1,
        "f_cnt": 812,
        "frm_payload": "CQ4IDQk=",
        "decoded_payload": {"we_mv": 231.5, "ae_mv": 206, "temp_c": 24.3, "battery": None},
        "rx_metadata": [{"gateway_ids": {"gateway_id": "roof"}, "rssi": -72, "snr": 9.2}],
        "settings": {"data_rate": {"lora": {"bandwidth": 125_000, "spreading_factor": 7}}},
        "received_at": "2024-02-01T10:15:29.802Z",
    },
}
SOUTH_COAST_SCIENCE = {
    "tag": "scs-be2-3",
    "rec": "2024-02-01T10:15:30Z",
    "val": {
        "NO2": {"weV": 0.316, "cnc": 31.7, "aeV": 0.31, "weC": 0.005},
        "CO": {"weV": 0.2315, "cnc": 301.5, "aeV": 0.206, "weC": 0.086},
        "sht": {"hmd": 47.2, "tmp": 24.3},
    },
}
SENT = [
    ("tele/tasmota_A9C204/SENSOR", TASMOTA),
    ("v3/van@ttn/devices/co-board-7/up", THE_THINGS_STACK),
    ("south-coast-science-demo/brighton/loc/1/gases", SOUTH_COAST_SCIENCE),
]
CASES = list(zip(re.findall(r"(?:^    .*\n|^\n(?=    ))+", SHAPES, re.MULTILINE), SENT, strict=True))


def settings_of(example: str) -> Settings:
    return Settings(**tomllib.loads("\n".join(line.removeprefix("    ") for line in example.splitlines())))


@pytest.mark.parametrize(
    ("example", "sent"), CASES, ids=["Tasmota", "The Things Stack", "South Coast Science"]
)
def test_a_board_of_another_maker_is_read(example: str, sent: tuple[str, dict[str, Any]]) -> None:
    topic, message = sent
    assert settings_of(example).topics.decoder().decode(topic, json.dumps(message).encode()) == [
        Reading("5A2D", "op1", AT_MS, 231.5),
        Reading("5A2D", "op2", AT_MS, 206.0),
        Reading("5A2D", "temperature", AT_MS, 24.3),
    ]


def test_other_boards_keep_their_names_and_other_keys_their_places() -> None:
    """A field that is not mapped is under its own name; a path that leads nowhere is left out."""
    topics = Settings(topics={"fields": {"op1": "val.CO.weV"}, "sensors": {"a": "5A2D"}}).topics
    decoder = topics.decoder()
    assert decoder.decode("sensors/b", b'{"val": {"CO": {"weV": 1}}, "op2": 2}') == [
        Reading("b", "op1", UNSTAMPED, 1.0),
        Reading("b", "op2", UNSTAMPED, 2.0),
    ]
    assert decoder.decode("sensors/a/op1", b"5") == [Reading("5A2D", "op1", UNSTAMPED, 5.0)]
    for nowhere in (b'{"val": 3, "op2": 2}', b'{"val": {"CO": []}, "op2": 2}', b'{"op1": 1, "op2": 2}'):
        assert decoder.decode("sensors/a", nowhere) == [Reading("5A2D", "op2", UNSTAMPED, 2.0)]


@pytest.mark.parametrize("value", ['"1"', "true", "[1]", "1e15", "NaN"])
def test_a_mapped_value_is_checked_like_any_other(value: str) -> None:
    decoder = Settings(topics={"fields": {"op1": {"key": "a.b", "scale": 10.0}}}).topics.decoder()
    with pytest.raises(BadReading, match="expected a finite number"):
        decoder.decode("sensors/5A2D", f'{{"a": {{"b": {value}}}}}'.encode())
    with pytest.raises(BadReading, match="expected a finite number"):
        decoder.decode("sensors/5A2D", b'{"a": {"b": 5e14}}')
