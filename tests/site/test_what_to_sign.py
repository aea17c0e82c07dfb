"""The page that a reviewer signs names every rule, in the rule's own words, and every file that has to be read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from checker import rules

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanations" / "what_to_sign.md").read_text("utf-8")


def test_the_table_has_every_rule_in_its_own_words() -> None:
    rows = []
    for name, rule in (rules.QUERIES | rules.SCORES | rules.MECHANISMS).items():
        words = " ".join((rule.__doc__ or "").partition("\n\n")[0].split())
        escaped = re.sub(r"([|_*<])", r"\\\1", words)
        rows.append(f"| `{name}` | {escaped} |")
    table = "\n".join(["| constructor | its rule |", "|---|---|", *rows, ""])
    assert table in PAGE, f"write this table into the page:\n{table}"


def test_the_page_names_every_file_that_has_to_be_read() -> None:
    core = [Path(path) for path in json.loads((ROOT / "checker" / "readings.json").read_bytes()) if "/core/" in path]
    files = [path.stem for path in core]
    assert [name for name in files if f"`{name}`" not in PAGE and name != "__init__"] == []
