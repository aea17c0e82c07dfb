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


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the overridden name
        pass


@dataclass(frozen=True)
class Visit:
    """A page of the site in a browser.

    Attributes:
        page: Playwright's page.
        errors: what the page wrote to its console as an error, and exceptions that it did not catch.
        outside: addresses of other hosts that it asked for; none of these requests was let through.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where a local server shows the built site."""
    assert (SITE / "index.html").is_file(), "there is no site yet; run `make docs`"
    handler = functools.partial(_Silent, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser without a screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[f"--{switch}" for switch in (*QUIET, *UNUSED)]
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
            visited = Visit(context.new_page())

            def decide(route: Any) -> None:
                if route.request.url.startswith((f"{address}/", "data:", "blob:")):
                    route.continue_()
                else:
                    visited.outside.append(route.request.url)
                    route.abort()

            context.route("**/*", decide)
            visited.page.on("pageerror", lambda error: visited.errors.append(str(error)))
            visited.page.on(
                "console", lambda message: visited.errors.append(message.text) if message.type == "error" else None
            )
            response = visited.page.goto(f"{address}/{path}", wait_until="load")
            assert response is not None
            assert response.ok, path
            return visited

        yield open_page
