"""What several measurements share. No module here is an experiment."""

from pathlib import Path

from experiments.common.paragraphs import read_paragraphs

PARAGRAPHS = read_paragraphs(Path(__file__).parents[1])
"""For each measurement, the text of its page with fields for measured numbers, from `data/paragraphs.toml`."""
