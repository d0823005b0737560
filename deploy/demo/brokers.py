"""The loopback broker of the demo and the tests: mosquitto, or amqtt where it is not installed."""

import json
import os
import shutil
import sys
from pathlib import Path

from deploy.demo.processes import HOST

BESIDE_PYTHON = Path(sys.executable).parent
"""Where `make` installs programs, also mosquitto if the system has none (deploy/demo/mosquitto.sh)."""


def mosquitto(program: str = "mosquitto") -> str | None:
    """The path of a mosquitto program: on the PATH, in the system's sbin, or beside this Python."""
    places = ("/usr/sbin", "/usr/local/sbin", str(BESIDE_PYTHON))
    return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", ""), *places)))


def mosquitto_command(folder: Path, port: int, *lines: str) -> list[str]:
    """The command for mosquitto on a port, with more lines of settings."""
    config = folder / "broker.conf"
    keep_root = ("user root",) if os.geteuid() == 0 else ()
    config.write_text("\n".join((f"listener {port} {HOST}", *lines, "log_type error", *keep_root, "")))
    return [str(mosquitto()), "-c", str(config)]


def amqtt_command(folder: Path, port: int, websockets: int | None = None) -> list[str]:
    """The command for amqtt on a port; it delivers messages and does not store them."""
    config = folder / "broker.conf"
    listeners = {"default": {"type": "tcp", "bind": f"{HOST}:{port}"}}
    if websockets is not None:
        listeners["ws"] = {"type": "ws", "bind": f"{HOST}:{websockets}"}
    config.write_text(json.dumps({"listeners": listeners}))  # JSON is YAML too
    return [str(BESIDE_PYTHON / "amqtt"), "-c", str(config)]
