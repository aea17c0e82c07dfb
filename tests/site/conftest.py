"""The built site, and a browser that reaches nothing else.

The browser is Debian's Chromium where it is installed, and otherwise Playwright's own.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
AXE = SITE / ".node" / "node_modules" / "axe-core" / "axe.min.js"
QUIET = ("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking")
UNUSED = ("disable-component-update", "disable-sync", "disable-extensions", "mute-audio")
HOST = "127.0.0.1"
ALONE = f"host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HOST}"
"""Lets the browser find no other host than this."""
SCREEN = {"width": 1280, "height": 720}


class _Silent(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a browser keeps its connections

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden name
        pass


@dataclass(frozen=True)
class Visit:
    """A page of the site in a browser.

    Attributes:
        page: Playwright's page.
        errors: what the page wrote to its console as an error, and exceptions that it did not catch.
        outside: addresses of other hosts that it asked for; the browser finds none of them.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where a local server shows the built site."""
    if not (SITE / "index.html").is_file():
        pytest.skip("there is no site yet; run `make docs`")
    handler = functools.partial(_Silent, directory=str(SITE))
    with http.server.ThreadingHTTPServer((HOST, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser without a screen."""
    playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright_api.sync_playwright() as playwright:
        executable = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(executable).is_file():
            pytest.skip("there is no Chromium here")
        browser = playwright.chromium.launch(
            executable_path=executable, args=[f"--{switch}" for switch in (*QUIET, *UNUSED, ALONE)]
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Opens a page of the site by its path, in a window of its own; keywords are those of a Playwright context."""
    with contextlib.ExitStack() as stack:

        def open_page(path: str, **settings: Any) -> Visit:
            context = browser.new_context(**settings)
            stack.callback(context.close)
            visited = watched(context.new_page(), address)
            _open(visited.page, f"{address}/{path}")
            return visited

        yield open_page


@pytest.fixture(scope="session")
def window(browser: Browser, address: str) -> Iterator[Visit]:
    """The window of `turn_to`."""
    context = browser.new_context()
    yield watched(context.new_page(), address)
    context.close()


@pytest.fixture
def turn_to(window: Visit, address: str) -> Callable[[str], Visit]:
    """Opens a page of the site by its path, by day on a screen, in a window that has shown others and keeps what
    pages share.
    """

    def open_page(path: str) -> Visit:
        window.page.emulate_media(color_scheme="light")
        window.page.set_viewport_size(SCREEN)
        window.page.goto("about:blank")
        window.errors.clear()
        window.outside.clear()
        _open(window.page, f"{address}/{path}")
        return window

    return open_page


def watched(page: Page, address: str) -> Visit:
    """A page whose errors are noted, and what it asks for beyond an address."""
    visited = Visit(page)

    def note(request: Any) -> None:
        if not request.url.startswith((f"{address}/", "data:", "blob:", "about:")):
            visited.outside.append(request.url)

    page.on("request", note)
    page.on("pageerror", lambda error: visited.errors.append(str(error)))
    page.on("console", lambda message: visited.errors.append(message.text) if message.type == "error" else None)
    return visited


def _open(page: Page, url: str) -> None:
    response = page.goto(url, wait_until="load")
    assert response is not None
    assert response.ok, url
