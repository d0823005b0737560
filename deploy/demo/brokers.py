"""The broker on loopback that serves the demo and the tests: mosquitto, or amqtt where there is none."""

import json
import os
import shutil
import sys
from pathlib import Path

from deploy.demo.processes import HOST

BESIDE_PYTHON = Path(sys.executable).parent
"""Where `make` puts programs, mosquitto's too where the system has none (deploy/demo/mosquitto.sh)."""


def mosquitto(program: str = "mosquitto") -> str | None:
    """Where that program of mosquitto is: on the PATH, among the system's daemons, or beside this Python."""
    places = ("/usr/sbin", "/usr/local/sbin", str(BESIDE_PYTHON))
    return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", ""), *places)))


def mosquitto_command(folder: Path, port: int, *lines: str) -> list[str]:
    """Start mosquitto on a port, with further lines of settings."""
    config = folder / "broker.conf"
    keep_root = ("user root",) if os.geteuid() == 0 else ()
    config.write_text("\n".join((f"listener {port} {HOST}", *lines, "log_type error", *keep_root, "")))
    return [str(mosquitto()), "-c", str(config)]


def amqtt_command(folder: Path, port: int, websockets: int | None = None) -> list[str]:
    """Start amqtt on a port: enough to show messages, not to keep them."""
    config = folder / "broker.conf"
    listeners = {"default": {"type": "tcp", "bind": f"{HOST}:{port}"}}
    if websockets is not None:
        listeners["ws"] = {"type": "ws", "bind": f"{HOST}:{websockets}"}
    config.write_text(json.dumps({"listeners": listeners}))  # JSON is YAML too
    return [str(BESIDE_PYTHON / "amqtt"), "-c", str(config)]
