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


def test_every_explanation_is_one_sentence_that_begins_with_a_capital() -> None:
    for term, _, sentence in ROWS:
        assert re.fullmatch(r"[^a-z][^.?!]*(\.\d[^.?!]*)*\.", sentence), term


def test_the_words_of_the_source_documents_are_there() -> None:
    asked = (
        "敏感度",
        "邻近数据集",
        "指数机制",
        "局部敏感度",
        "平滑敏感度",
        "报告噪声最大值",
        "建议-测试-发布",
        "隐私损失",
    )
    assert set(asked) <= {row[1] for row in ROWS}


def test_relations_that_have_a_name_are_explained() -> None:
    words = " ".join(" ".join(row) for row in ROWS)
    assert all(str(relation) in words for relation in Relation)
