"""A real Chromium without a window, driven over its debugging pipe: no driver, no port, no script in a page."""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
_QUIET = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --hide-scrollbars --remote-debugging-pipe"
)
_EXEC = """
import os, sys
for number, end in enumerate([os.dup(os.dup(os.dup(int(end)))) for end in sys.argv[1].split()], 3):
    os.dup2(end, number)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""The browser's ends of the pipe have these numbers; the copies are above them."""
_WAIT_SECONDS = 30.0


class BrowserPipe:
    """The two ends of the pipe: each message is one JSON object that a zero byte ends."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._received = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result; what happens meanwhile is kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            portion = os.read(self._from, 1 << 20)
            assert portion, "the browser has ended"
            self._received += portion
        message, _, self._received = self._received.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


class Tab:
    """A page in a browser, with what went wrong in it."""

    def __init__(self, pipe: BrowserPipe, width: int, *, is_dark: bool) -> None:
        self._pipe = pipe
        target = pipe.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = pipe.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def visit(self, url: str) -> None:
        """Open a page."""
        self._call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression: str) -> Any:  # noqa: ANN401 - whatever JSON can hold
        """Return what an expression is worth in the page; the page's own policy does not hinder it."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression: str) -> Any:  # noqa: ANN401 - as above
        """Return what an expression is worth as soon as that is true for it."""
        late_at = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < late_at:
            with suppress(AssertionError):  # a page that is just being left has no context
                if found := self.value(expression):
                    return found
            time.sleep(0.05)
        raise AssertionError(f"never true: {expression}\n{self.errors()}\n{self.value('document.body.innerText')}")

    def click(self, selector: str) -> None:
        """Click on an element, and wait until another page is there."""
        self.value("window.isOld = true")
        self.value(f"document.querySelector({json.dumps(selector)}).click()")
        self.wait_for("!window.isOld && document.readyState === 'complete'")

    def hide(self, *, is_hidden: bool) -> None:
        """Put the tab into the background, or back."""
        self._call("Emulation.setFocusEmulationEnabled", enabled=not is_hidden)
        self._call("Page.setWebLifecycleState", state="frozen" if is_hidden else "active")

    def picture(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def errors(self) -> list[str]:
        """Return what the console shows as an error: exceptions, failed requests, and breaches of the policy."""
        self.value("1")  # what has happened so far has been told before its answer
        found = [event for event in self._pipe.events if event.get("sessionId") == self._session]
        thrown = [str(each["params"]) for each in found if each["method"] == "Runtime.exceptionThrown"]
        entries = [each["params"]["entry"] for each in found if each["method"] == "Log.entryAdded"]
        return thrown + [f"{each['text']} {each.get('url', '')}" for each in entries if each["level"] == "error"]

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._pipe.call(method, self._session, **parameters)


@contextmanager
def chromium(home: Path) -> Iterator[Callable[..., Tab]]:
    """Start a browser with a new profile, and yield what opens a tab of it."""
    command_end, to_browser = os.pipe()
    from_browser, answer_end = os.pipe()
    command = [sys.executable, "-c", _EXEC, f"{command_end} {answer_end}"]
    command += [str(CHROMIUM), *_QUIET.split(), f"--user-data-dir={home}"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, pass_fds=(command_end, answer_end), **quiet) as process:
        os.close(command_end)
        os.close(answer_end)
        pipe = BrowserPipe(to_browser, from_browser)

        def tab(width: int = 1280, *, is_dark: bool = False) -> Tab:
            return Tab(pipe, width, is_dark=is_dark)

        try:
            yield tab
        finally:
            process.kill()
            os.close(to_browser)
            os.close(from_browser)
