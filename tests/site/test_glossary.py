"""The glossary has every term once, in both languages, with one sentence, and the words that the lab itself uses."""

from __future__ import annotations

import re
from pathlib import Path

from attacklab.model.neighbours import Relation

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"(?m)^\| (?!English)(\S[^|]*) \| ([^|]*) \| ([^|]*) \|$", (ROOT / "docs/reference/glossary.md").read_text("utf-8")
)


def test_every_term_stands_once_in_each_language() -> None:
    english, chinese = [row[0] for row in ROWS], [row[1] for row in ROWS]
    assert len(ROWS) > 60
    assert len(set(english)) == len(english)
    assert len(set(chinese)) == len(chinese)
    assert all(re.search(r"[\u4e00-\u9fff]", term) for term in chinese)


def test_relations_that_have_a_name_are_explained() -> None:
    words = " ".join(" ".join(row) for row in ROWS)
    assert all(str(relation) in words for relation in Relation)
