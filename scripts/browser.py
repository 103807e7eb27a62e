"""A real Chromium without a window: for the tests, the speed and the pictures.

Debian calls its packages chromium and chromium-driver; `make browser` installs them.
Run by itself, this file says whether they are there.
"""

import base64
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Nothing is asked of the network, and no window, sandbox or graphics card is needed.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-color-profile=srgb",
)


def missing() -> str | None:
    """Why there is no browser here, if there is none."""
    if not any(map(shutil.which, BROWSERS)):
        return f"none of {', '.join(BROWSERS)} is installed; run make browser"
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed; run make browser"
    return None


@contextmanager
def opened() -> Iterator[Any]:
    """A browser with a profile of its own, which ends with the block."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    why = missing()
    if why:
        raise RuntimeError(why)
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in FLAGS:
        options.add_argument(flag)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        service = Service(shutil.which("chromedriver"))
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def look(driver: Any, *, width: int = 1280, dark: bool = False) -> None:
    """Give the page a width, and light or dark colours."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1}
    mobile = {"mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | mobile)
    driver.execute_cdp_cmd(
        "Emulation.setTouchEmulationEnabled", {"enabled": width < 600}
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def settle(driver: Any) -> None:
    """Wait until what was asked has been drawn: the second frame from now."""
    driver.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => done()));"
    )


def picture(driver: Any, path: Path, *, height: int | None = None) -> None:
    """The page from its top as PNG: all of it, or so much."""
    width, whole = driver.execute_script(
        "return [innerWidth, document.documentElement.scrollHeight]"
    )
    clip = {"x": 0, "y": 0, "width": width, "height": height or whole, "scale": 1}
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    path.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    sys.exit(missing())
