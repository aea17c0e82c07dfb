"""Pages with one touchable figure each, opened from files, for tests that need no built site."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "_static" / "figures"
NAMES = ("two_laws", "which_database", "vanishing_weight", "noisy_doubles", "order_of_sums", "coin_tree", "betting")


def shown() -> list[str]:
    """Every figure as a page asks for it: by its name, and that of its game if it plays several."""
    games = [key.replace(".", " ") for key in texts()["en"] if "." in key]
    return [name for name in NAMES if not any(game.startswith(f"{name} ") for game in games)] + games


def words(figure: str, language: str) -> dict[str, str]:
    """The texts of a figure, those of its game among them."""
    name, _, game = figure.partition(" ")
    found = texts()[language]
    merged: dict[str, str] = found[name] | found.get(f"{name}.{game}", {})
    return merged


def texts() -> Any:
    """The dictionary of both languages."""
    return json.loads((FOLDER / "texts.json").read_text("utf-8"))


def data(name: str) -> Any:
    """What a figure shows, as committed."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def block(figure: str, language: str) -> str:
    """The figure as the site's extension writes it."""
    path = ROOT / "docs" / "_extensions" / "touchable.py"
    spec = importlib.util.spec_from_file_location("touchable_extension", path)
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    written: str = extension.block(figure.split()[0], language, figure.partition(" ")[2])
    return written


def document(figure: str, language: str) -> str:
    """A whole page with the figure and nothing else."""
    name = figure.split()[0]
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{name}</title>'
        '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{(FOLDER / "figures.css").as_uri()}"></head>'
        f'<body data-theme="auto"><main>{block(figure, language[:2])}</main>'
        f'<script src="{(FOLDER / "figure.js").as_uri()}"></script>'
        f'<script src="{(FOLDER / f"{name}.js").as_uri()}"></script></body></html>'
    )


def said(page: Page) -> str:
    """What the figure tells in its live text."""
    return page.locator(".live").inner_text()


def cells(page: Page, table: int = 0) -> list[list[str]]:
    """The rows of a table of the figure, without its head."""
    rows = page.locator(".touchable table").nth(table).locator("tbody tr")
    return [row.locator("th, td").all_inner_texts() for row in rows.all()]


def press(page: Page, label: str, key: str, times: int = 1) -> None:
    """Work a control by the keyboard alone."""
    control = page.get_by_label(label, exact=True)
    control.focus()
    for _ in range(times):
        control.press(key)
