"""The connection to the broker: never there, lost, refused, and with a password."""

import base64
import hashlib
import json
import time
import urllib.parse
from pathlib import Path

import pytest

from deploy.demo.processes import free_port
from tests.support.browser import Chromium, Page
from tests.support.dashboard import WebBroker, date
from tests.support.needs import dynamic_security_plugin, require
from tests.support.van import WINDOW_S, Van, estimate


def test_a_broker_that_was_never_reached_is_not_called_lost(chromium: Chromium, site: str) -> None:
    """There are no last values; the hint is about the listener."""
    page = chromium.open(f"{site}?broker=ws://127.0.0.1:{free_port()}", width=390, height=844)
    page.wait_for_text("The broker cannot be reached.", "h1")
    page.wait_for_text("WebSockets listener", "[role=status]")
    assert "last values" not in page.evaluate("document.body.innerText")


def test_a_lost_broker_is_said_and_found_again(page: Page, broker: WebBroker, van: Van) -> None:
    """Nothing is called fine without a connection; the page comes back by itself."""
    page.wait_for_text("All 6 sensors report.", "h1")
    rendered = "getComputedStyle(document.querySelector('[role=status]')).display !== 'none'"
    assert page.evaluate(rendered), "a live region that is not there yet is not spoken"
    began_s = time.time()
    broker.stop()
    page.wait_for_text("Disconnected.", "h1")
    page.wait_for_text(f"Disconnected from {broker.websocket}", "[role=status]")
    assert page.evaluate("document.title").startswith("Disconnected")
    page.wait_for_text("Last known: data OK", '[data-sensor="5A2D"] .state')
    page.wait_for_text("Last known: online", '[data-agent="van-1"] .state')
    assert page.evaluate("document.querySelectorAll('main .mark').length") == 0
    assert page.evaluate("getComputedStyle(document.querySelector('.value')).opacity") == "1"
    page.evaluate("location.hash = '#/sensor/van-1/5A2D'")
    page.wait_for_text("Last known: data OK", ".now")
    page.evaluate("(() => { const now = Date.now; Date.now = () => now() + 864e5; })()")
    dates = [f"since {date(at_s)}, " for at_s in (began_s, time.time())]
    told = "document.querySelector('[role=status]').innerText"
    page.wait(f"{json.dumps(dates)}.some((date) => {told}.includes(date))")  # now it was another day
    broker.start()
    page.wait_for_text("Live", ".link")
    assert page.evaluate("document.querySelector('[role=status]').innerText") == ""


@pytest.mark.parametrize("address", ["ws://nosuch host", "ws://nosuch%20host", "ftp://127.0.0.1"])
def test_an_address_that_cannot_be_used_is_said(chromium: Chromium, site: str, address: str) -> None:
    """What the browser will not dial ends in words, not in waiting for ever."""
    page = chromium.open(f"{site}?broker={urllib.parse.quote(address)}", width=390, height=844)
    page.wait_for_text("cannot be used", "[role=status]")
    page.wait_for_text("The broker’s address cannot be used.", "h1")
    assert page.evaluate("document.title") == "No address · RESPIRE"


def test_a_broker_with_a_password_is_signed_in_to(chromium: Chromium, site: str, tmp_path: Path) -> None:
    """The page says that it was refused, the form lets it in, and the address never holds the password."""
    passwords = tmp_path / "passwords"
    passwords.write_text(f"eva:{hashed('sesame')}\n")
    guarded = WebBroker(tmp_path, "allow_anonymous false", f"password_file {passwords}")
    page = chromium.open(f"{site}?broker={guarded.websocket}", width=390, height=844)
    page.wait_for_text("it needs a user and password", "[role=status]")
    page.evaluate("document.querySelector('.link').click()")
    fields = "[...document.querySelectorAll('[name=username], [name=password]')]"
    assert page.evaluate(f"{fields}.map((field) => field.autocomplete)") == ["off", "off"], "a link named it"
    page.evaluate("document.querySelector('[name=username]').value = 'eva'")
    page.evaluate("document.querySelector('[name=password]').value = 'sesame'")
    page.evaluate("document.querySelector('[name=password]').focus()")
    page.press("Enter")
    page.wait_for_text("Live", ".link")
    assert "sesame" not in page.evaluate("location.href")
    page.evaluate("window.before = true; document.querySelector('dialog .primary').click()")
    page.wait("window.before === undefined")
    page.wait_for_text("Live", ".link")  # the password stays when nothing is typed
    page.evaluate("document.querySelector('.forget').click()")
    page.wait_for_text("it needs a user and password", "[role=status]")
    guarded.stop()


def hashed(password: str, salt: bytes = b"twelve bytes", rounds: int = 101) -> str:
    """A password as mosquitto keeps it: PBKDF2 with SHA-512, both in base 64."""
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds)
    return f"$7${rounds}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    ("kind", "topic"),
    [("subscribeLiteral", "respire/+/health"), ("subscribePattern", "respire/van-1/response/#")],
)
def test_a_refused_subscription_is_not_live(
    chromium: Chromium, site: str, tmp_path: Path, kind: str, topic: str
) -> None:
    """A broker that lets the page in but not read says so, and the page names the topic."""
    require("mosquitto's dynamic security plugin")
    plugin = dynamic_security_plugin()
    rule = {"acltype": kind, "topic": topic, "allow": False}
    rights = ("publishClientSend", "publishClientReceive", "subscribe", "unsubscribe")
    (tmp_path / "rules.json").write_text(
        json.dumps(
            {
                "defaultACLAccess": dict.fromkeys(rights, True),
                "anonymousGroup": "all",
                "clients": [],
                "groups": [{"groupname": "all", "roles": [{"rolename": "all"}]}],
                "roles": [{"rolename": "all", "acls": [rule]}],
            }
        )
    )
    strict = WebBroker(tmp_path, f"plugin {plugin}", f"plugin_opt_config_file {tmp_path / 'rules.json'}")
    van = Van(strict.port)
    van.connect()
    van.publish(estimate("5A2D", time.time() // WINDOW_S * WINDOW_S))
    page = chromium.open(f"{site}?broker={strict.websocket}", width=390, height=844)
    page.wait_for_text(f"may not read {topic.removesuffix('#')}", "[role=status]")
    page.wait_for_text("Refused", ".link")
    page.wait_for_text("The broker refused access.", "h1")
    van.leave()
    strict.stop()
