"""What several measurements share. No module here is an experiment."""

from pathlib import Path

from experiments.common.paragraphs import read_paragraphs

PARAGRAPHS = read_paragraphs(Path(__file__).parents[1])
"""What the pages of the measurements say, with places for what was measured: `data/paragraphs.toml`."""
