"""Files as students hand them in."""

from __future__ import annotations

from pathlib import Path

SOLUTIONS = Path(__file__).parent / "solutions"


def handed_in(folder: Path, source: str) -> Path:
    """A file with this text."""
    path = folder / "mine.py"
    path.write_text(source, "utf-8")
    return path


def attack_of(name: str) -> str:
    """A reference solution without its repair."""
    source = (SOLUTIONS / f"{name}.py").read_text("utf-8")
    return source[: source.index("def repair")].partition("def below")[0]
