"""A headless Chromium: open a page, evaluate JavaScript on it, take a screenshot.

The Chrome DevTools protocol is used over two pipes (``--remote-debugging-pipe``), so that only
Chromium itself must be installed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

#: Names of the executable in different distributions.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str | None:
    """Return the path of Chromium, or None. The environment variable CHROMIUM takes precedence."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    return found if found and Path(found).exists() else None


def cpu_seconds(process: int) -> float:
    """Return the processor time of a process and its children so far (Linux)."""
    times: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses can contain spaces.
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # the process has just ended
        pid = int(path.parent.name)
        times[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        children.setdefault(int(fields[1]), []).append(pid)
    total, waiting = 0.0, [process]
    while waiting:
        pid = waiting.pop()
        total += times.get(pid, 0.0)
        waiting += children.get(pid, [])
    return total


class Browser:
    """One page of a headless Chromium; use it as a context manager.

    Args:
        width: Width of the window in pixels.
        height: Height of the window in pixels.
        timeout: Seconds to wait for an answer of the page before raising.
    """

    def __init__(self, width: int = 1200, height: int = 800, timeout: float = 300.0) -> None:
        self._size = (width, height)
        self._timeout = timeout
        self._last = 0
        self._unread = b""

    def __enter__(self) -> Self:
        program = chromium()
        if program is None:
            raise FileNotFoundError(f"Chromium not found: none of {_NAMES} is installed.")
        self._folder = tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True)
        child_in, self._to = os.pipe()
        self._from, child_out = os.pipe()
        # Above the descriptors 3 and 4 of Chromium, so that neither overwrites the other.
        low = child_in, child_out
        child_in, child_out = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in low)
        command = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--force-device-scale-factor=1",
            f"--window-size={self._size[0]},{self._size[1]}",
            f"--user-data-dir={self._folder.name}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        # Chromium reads from descriptor 3 and writes to 4; a shell redirects the pipes.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{child_in} 4>&{child_out}', "bash", *command],
            pass_fds=(child_in, child_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (child_in, child_out, *low):
            os.close(end)
        targets = self._send("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=page, flatten=True)
        self._session: str | None = attached["sessionId"]
        self.call("Page.enable")
        self.resize(*self._size)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def call(self, method: str, **params: Any) -> Any:
        """Send a command of the protocol to the page and return the result."""
        return self._send(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, address: str) -> None:
        """Start loading a page."""
        self.call("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails'].get('text')}")
        return answer["result"].get("value")

    def wait_for(
        self, expression: str, *, seconds: float | None = None, every: float = 0.02
    ) -> float:
        """Wait until a JavaScript expression is true and return the seconds it took."""
        start = time.monotonic()
        limit = self._timeout if seconds is None else seconds
        while time.monotonic() - start < limit:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return time.monotonic() - start
            except RuntimeError:
                pass  # the page is still loading
            time.sleep(every)
        text = self.evaluate("document.body.innerText.slice(0, 500)")
        raise TimeoutError(f"Not true after {limit:g} s: {expression}. Text of the page: {text!r}")

    def screenshot(self, path: Path, clip: dict[str, float] | None = None) -> None:
        """Save a screenshot of the page, or of a rectangle (x, y, width, height, and scale)."""
        options: dict[str, Any] = {"format": "png"}
        if clip is not None:
            options["clip"] = {"scale": 1, **clip}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def cpu_seconds(self) -> float:
        """Return the processor time of all processes of Chromium so far (Linux)."""
        return cpu_seconds(self._process.pid)

    # ---- the pipe -----------------------------------------------------------------------------

    def _send(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(method)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _receive(self, method: str) -> dict[str, Any]:
        end = time.monotonic() + self._timeout
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._from, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError(
                    f"Chromium did not answer {method} (exit code {self._process.poll()})."
                )
            self._unread += part
        first, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message
