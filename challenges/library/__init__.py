"""Quillmask: private answers for small services.

Quillmask has one function for each question that a service asks of its data. Functions that take `rng` return `size`
independent answers in an array. Functions that take `bits` return one answer; they draw from a source of fair random
bits with the methods `take(count)`, an integer of so many bits, and `repeat(round, *arguments)`, which calls
`round(*arguments, bits)` until it returns something other than None.
"""

from challenges.library.choices import best_candidate, cheapest_plan, nearest_depot, top_category
from challenges.library.counts import count_people, metered_count
from challenges.library.numbers import add_noise, average, average_basket, total
from challenges.library.surveys import survey_answer

__all__ = [
    "add_noise",
    "average",
    "average_basket",
    "best_candidate",
    "cheapest_plan",
    "count_people",
    "metered_count",
    "nearest_depot",
    "survey_answer",
    "top_category",
    "total",
]
