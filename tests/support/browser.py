"""A real headless Chromium, controlled over its DevTools pipe.

with Chromium(profile=tmp_path) as chromium:
    page = chromium.open(url, width=390, height=844, dark=True)
    page.wait("document.querySelector('.value')")
    assert page.complaints() == []
"""

import base64
import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.support.devtools import ANSWER_S, POLL_S, BrowserFailed, Json, Pipe, reap, spawn

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    # One renderer for all tabs: each test loads the page anew, and a process for each takes a third more CPU.
    "--renderer-process-limit=1",
    "--disable-site-isolation-trials",
    "--disable-features=site-per-process,IsolateOrigins,PaintHolding",
    "--in-process-gpu",
)


def chromium_path() -> str | None:
    """The path of the system's Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass(frozen=True, slots=True)
class Page:
    """One tab. Expressions are JavaScript with plain values."""

    pipe: Pipe
    session: str

    def call(self, method: str, params: Json | None = None) -> Json:
        return self.pipe.call(method, params, self.session)

    def evaluate(self, expression: str) -> Any:
        reply = self.call(
            "Runtime.evaluate",
            {"expression": expression, "returnByValue": True, "awaitPromise": True, "userGesture": True},
        )
        if details := reply.get("exceptionDetails"):
            raise BrowserFailed(f"{expression}: {details.get('exception', {}).get('description', details)}")
        return reply["result"].get("value")

    def wait(self, expression: str, timeout_s: float = ANSWER_S) -> Any:
        """Wait until the expression is truthy, and return its value."""
        give_up = time.monotonic() + timeout_s
        while not (value := self._evaluate_between_pages(expression)):
            if time.monotonic() > give_up:
                shown = self.evaluate("document.body.innerText")
                raise BrowserFailed(f"never true within {timeout_s} s: {expression}\nThe page says:\n{shown}")
            time.sleep(POLL_S)
        return value

    def _evaluate_between_pages(self, expression: str) -> Any:
        """The value, or None while the tab changes pages."""
        try:
            return self.evaluate(expression)
        except BrowserFailed as failure:
            if not any(sign in str(failure) for sign in ("target navigated", "context")):
                raise
            return None

    def wait_for_text(self, words: str, selector: str = "body", timeout_s: float = ANSWER_S) -> None:
        """Wait until the selected element contains the text."""
        chosen = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"{chosen}?.innerText.includes({json.dumps(words)})", timeout_s)

    def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, **_key_code(key)})

    def tap(self, x: float, y: float, *, to_x: float | None = None) -> None:
        """A finger down at a point of the viewport, dragged to another if told, and up again."""
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": True})
        self._touch("touchStart", (x, y))
        if to_x is not None:
            for step in (0.25, 0.5, 0.75, 1.0):
                self._touch("touchMove", (x + step * (to_x - x), y))
        self._touch("touchEnd")

    def pinch(self, x: float, y: float, *, apart: tuple[float, float]) -> None:
        """Two fingers around a point, moved from one distance apart to another."""
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": True})
        before, after = apart
        for step in range(5):
            half = (before + (after - before) * step / 4) / 2
            self._touch("touchMove" if step else "touchStart", (x - half, y), (x + half, y))
        self._touch("touchEnd")

    def _touch(self, kind: str, *points: tuple[float, float]) -> None:
        self.call(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y, "id": id_} for id_, (x, y) in enumerate(points)]},
        )

    def download(self, button: str, folder: Path) -> Path:
        """The file that a click on the button saves, once it is whole."""
        self.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        before = set(folder.iterdir())
        self.evaluate(f"document.querySelector({json.dumps(button)}).click()")
        give_up = time.monotonic() + ANSWER_S
        while not (new := {file for file in folder.iterdir() if file.suffix != ".crdownload"} - before):
            if time.monotonic() > give_up:
                raise BrowserFailed(f"{button}: nothing was downloaded within {ANSWER_S:.0f} s")
            time.sleep(POLL_S)
        return new.pop()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        options = {"format": "png", "captureBeyondViewport": whole, **self._clip(whole)}
        shot = self.call("Page.captureScreenshot", options)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Every error that the page or the browser logged, and every uncaught exception, so far."""
        self.pipe.drain()
        mine = [event for event in self.pipe.events if event.get("sessionId") == self.session]
        return [words for event in mine if (words := _complaint(event["method"], event["params"]))]

    def _clip(self, whole: bool) -> Json:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}


class Chromium:
    """A browser with a new profile and without background traffic, ended with the `with` block."""

    def __init__(self, profile: Path, environment: Mapping[str, str] = os.environ) -> None:
        arguments = [str(chromium_path()), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._tabs: list[str] = []
        self.pid, self.pipe = spawn(arguments, {**environment, "TZ": "UTC"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrowserFailed, OSError):
            self.pipe.call("Browser.close")
        self.pipe.close()
        reap(self.pid)

    def open(self, url: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
        target = self.pipe.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._tabs.append(target)
        attached = self.pipe.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self.pipe, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        screen = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": width < 600}
        page.call("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", {"features": [scheme]})
        page.call("Page.navigate", {"url": url})
        page.wait("document.readyState === 'complete'")
        return page

    def close_tabs(self) -> None:
        """Close every tab that was opened; an old one goes on drawing and takes CPU."""
        while self._tabs:
            self.pipe.call("Target.closeTarget", {"targetId": self._tabs.pop()})
        self.pipe.drain()
        self.pipe.events.clear()


def _complaint(method: str, params: Json) -> str | None:
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return str(details.get("exception", {}).get("description") or details["text"])
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
        return " ".join(str(item.get("value", item.get("description"))) for item in params["args"])
    if method == "Log.entryAdded" and params["entry"]["level"] == "error":
        return f"{params['entry']['text']} {params['entry'].get('url', '')}".strip()
    return None


def _key_code(key: str) -> Json:
    codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36}
    return {
        "windowsVirtualKeyCode": codes.get(key, ord(key[0])),
        **({"text": "\r"} if key == "Enter" else {}),
    }
