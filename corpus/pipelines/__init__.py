"""Short pipelines, broken and sound, each with a pair of neighbours on which it shows."""

from corpus.common.pipelines import PIPELINES
from corpus.pipelines import keeps, leaks

__all__ = ["PIPELINES", "keeps", "leaks"]
