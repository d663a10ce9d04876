"""A headless Chromium, driven over its DevTools pipe with the standard library alone."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    """The browser to test in: ``CHROMIUM``, or the first one on the path."""
    given = os.environ.get("CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One browser with one page; leaving the context ends it.

    Messages are JSON, each ended by a zero byte; the browser reads them from file 3 and writes
    to file 4.
    """

    def __init__(self, browser: str, profile: Path, timeout: float = 60) -> None:
        self.timeout, self.sent, self.rest = timeout, 0, b""
        self.events: list[dict[str, Any]] = []
        theirs_in, self.to_browser = os.pipe()
        self.from_browser, theirs_out = os.pipe()
        log = (
            os.POSIX_SPAWN_OPEN,
            2,
            str(profile / "chromium.log"),
            os.O_CREAT | os.O_WRONLY,
            0o600,
        )
        # Copies with high numbers, so that neither is overwritten before it is in its place.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out)]
        actions = [
            (os.POSIX_SPAWN_DUP2, high[0], 3),
            (os.POSIX_SPAWN_DUP2, high[1], 4),
            log,
        ]
        command = [browser, *FLAGS, f"--user-data-dir={profile / 'profile'}", "about:blank"]
        self.pid = os.posix_spawn(browser, command, os.environ, file_actions=actions, setpgroup=0)
        for file in (theirs_in, theirs_out, *high):
            os.close(file)
        self.session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.session = ""
        with suppress(Exception):
            self.call("Browser.close")
        until = time.monotonic() + 10
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
            time.sleep(0.05)
        os.close(self.to_browser)
        os.close(self.from_browser)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Calls a method of the protocol and waits for its result."""
        self.sent += 1
        message: dict[str, Any] = {"id": self.sent, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.timeout
        while True:
            answer = self._read(until)
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError("the browser did not answer in time")
            chunk = os.read(self.from_browser, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended by itself")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        return dict(json.loads(message))

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression, awaited where it is a promise."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def open(self, page: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Opens a report in a window of the given size and waits until it is drawn."""
        self.events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page.absolute().as_uri())
        self.wait('document.documentElement?.dataset.ready === "true"')

    def wait(self, condition: str) -> None:
        """Waits until a JavaScript expression is true."""
        until = time.monotonic() + self.timeout
        while not self.run(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"still not true: {condition}; {self.errors}")
            time.sleep(0.05)

    def point(self, x: float, y: float) -> None:
        """Moves the pointer there, from close by, as a hand would."""
        for step in (3, 1, 0):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x - step, y=y)

    @property
    def errors(self) -> list[str]:
        """What the console was told since the page was opened, errors alone."""
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
                found.append(str(params["args"]))
            if method == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(str(params["entry"]))
        return found

    @property
    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened."""
        sent = "Network.requestWillBeSent"
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == sent]

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """A picture of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
