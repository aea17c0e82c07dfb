"""The lessons as text: their headings, their cells, and the lecturer's solutions; and a run of one."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent.parent / "docs" / "lessons"
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.md"))

_CELL = re.compile(
    r"^```\{code-cell\} ipython3\n(?P<options>---\n.*?\n---\n|(?::[^\n]*\n)*)(?P<source>.*?)^```$", re.M | re.S
)
_SOLUTION = re.compile(r"^```\{admonition\} Lesson (\d+):.*?^~~~python\n(.*?)^~~~$", re.M | re.S)


@dataclass(frozen=True)
class Cell:
    """A cell of code: the options as they are written, and the source."""

    options: str
    source: str

    @property
    def is_challenge(self) -> bool:
        """Whether the student edits it."""
        return "challenge" in self.tags

    @property
    def tags(self) -> set[str]:
        """What is said of how it is shown."""
        return {tag.strip() for tags in re.findall(r"tags: \[(.*)\]", self.options) for tag in tags.split(",")}


def cells(lesson: Path) -> list[Cell]:
    """The cells of a lesson, in their order."""
    return cells_of(lesson.read_text(encoding="utf-8"))


def cells_of(text: str) -> list[Cell]:
    """The cells of a page or of a part of one, in their order."""
    return [Cell(found["options"], found["source"]) for found in _CELL.finditer(text)]


def without_cells(lesson: Path) -> str:
    """The words of a lesson."""
    return _CELL.sub("", lesson.read_text(encoding="utf-8").split("---\n", 2)[2])


def headings(lesson: Path) -> list[str]:
    """The headings of the second level."""
    return re.findall(r"^## (.*)$", without_cells(lesson), re.M)


def solutions() -> dict[str, str]:
    """The lecturer's solution of each lesson, by the lesson's number as its file has it."""
    page = (FOLDER / "solutions.md").read_text(encoding="utf-8")
    return {f"{int(number):02}": source for number, source in _SOLUTION.findall(page)}


def run(lesson: Path, solution: str) -> tuple[bool, float]:
    """Run the cells of a lesson in this process, the solution in place of the one that the student edits.

    Returns:
        Whether the challenge was solved, and the seconds of CPU of this process and of its children that have ended.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    before = os.times()
    for number, cell in enumerate(cells(lesson)):
        source = solution if cell.is_challenge else cell.source
        exec(compile(source, f"{lesson.name}, cell {number}", "exec"), space)  # noqa: S102 - it is the lesson
    return bool(space["solved"]), sum(os.times()[:4]) - sum(before[:4])
