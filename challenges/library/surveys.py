"""Private answers of single people."""

from __future__ import annotations

from typing import Any

CHOICES = 5


def survey_answer(truth: int, bits: Any) -> int:
    """Answer a question with five choices by randomized response.

    Args:
        truth: what the person would say, from 0 to 4; any two truths are neighbours.
        bits: the source of random bits.

    Returns:
        The truth with probability 3/7, each other choice with 1/7. So ε is ln 3 < 1.1.
    """
    place = bits.repeat(_place)
    return truth if place < 3 else (truth + place - 2) % CHOICES


def _place(bits: Any) -> int | None:
    place: int = bits.take(3)
    return place if place < 7 else None
