"""The lessons: their form, that their cells run, and that the lecturer's solutions solve the challenges."""

import re
from pathlib import Path

import nbformat
import pytest

from tests.site.built import LANGUAGES, SITE, html, needs_site
from tests.site.lessons import LESSONS, cells, cells_of, headings, run, solutions

MOST_SECONDS = 15.0
"""The processor time that one lesson may take."""


def by_number(lesson: Path) -> str:
    return lesson.name[:2]


QUICK = [lesson for lesson in LESSONS if by_number(lesson) in ("09", "11", "12")]
"""The lessons that take the least time; the cells of the others run whenever the site is built."""

every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=by_number)


@every_lesson
def test_a_lesson_has_its_six_parts_about_ten_lines_that_break_the_mechanism_and_one_cell_to_edit(lesson: Path) -> None:
    assert headings(lesson) == ["Predict", "Break it", "Why", "Repair", "Prove", "Challenge"]
    text = lesson.read_text(encoding="utf-8")
    section = text[text.index("\n## Break it\n") : text.index("\n## Why\n")]
    seen = [cell for cell in cells_of(section) if not {"hide-input", "remove-cell"} & cell.tags]
    assert 5 <= sum(bool(line.strip()) for cell in seen for line in cell.source.splitlines()) <= 15
    for title in ("Answer\n", "Hint\n:class: tip\n"):
        assert f"```{{admonition}} {title}:collapsible: closed\n" in text
    pictures = [cell for cell in cells(lesson) if re.search(r"advantages\(|two_laws\(|plt\.subplots\(", cell.source)]
    assert pictures
    assert all("alt: " in cell.options for cell in pictures)
    assert sum(cell.is_challenge for cell in cells(lesson)) == 1
    assert by_number(lesson) in solutions()


@pytest.mark.parametrize("lesson", QUICK, ids=by_number)
def test_the_lecturers_solution_solves_the_challenge_in_time(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    is_solved, seconds = run(lesson, solutions()[by_number(lesson)])
    assert is_solved
    assert seconds < MOST_SECONDS


@needs_site
@pytest.mark.parametrize("language", LANGUAGES)
@every_lesson
def test_a_lesson_downloads_as_a_notebook_with_the_same_cells(lesson: Path, language: str) -> None:
    name = f"{lesson.stem}.ipynb"
    folder = SITE / language / "docs" / "lessons"
    assert name in html(folder / f"{lesson.stem}.html").links
    notebook = nbformat.read(folder / name, as_version=4)
    nbformat.validate(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "```{" not in words
    assert "](../" not in words
    if language == "en":
        assert code == [cell.source.strip("\n") for cell in cells(lesson)]
    else:
        assert len(code) >= len(cells(lesson))
        assert not re.search(r"(?m)^[A-Z][a-z]+ [a-z]+ [a-z]+ [a-z]+", words)


@needs_site
@pytest.mark.parametrize("stem", ["09_base_two_and_coins", "12_glue"])
def test_a_downloaded_notebook_runs_from_its_first_cell_to_its_last(stem: str, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs the packages that `make docs` installs")
    notebook = nbformat.read(SITE / "en" / "docs" / "lessons" / f"{stem}.ipynb", as_version=4)

    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()

    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    assert "NOT YET" in outputs[-1].text
