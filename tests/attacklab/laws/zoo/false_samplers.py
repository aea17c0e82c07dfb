"""All false samplers of the zoo, class by class."""

from __future__ import annotations

from tests.attacklab.laws.zoo import (
    control,
    elsewhere,
    equal_arguments,
    hidden,
    many_rejections,
    numbers,
    outcomes,
    reuse,
    schedules,
    search,
    sharing,
    state,
)
from tests.attacklab.laws.zoo.case import Case

FALSE: dict[str, tuple[Case, ...]] = {
    "state": state.CASES,
    "hidden state": hidden.CASES,
    "schedules": schedules.CASES,
    "reuse": reuse.CASES,
    "equal arguments": equal_arguments.CASES,
    "outcomes": outcomes.CASES,
    "numbers": numbers.CASES,
    "elsewhere": elsewhere.CASES,
    "search": search.CASES,
    "control": control.CASES,
    "sharing": sharing.CASES,
    "many rejections": many_rejections.CASES,
}
