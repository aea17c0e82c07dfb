"""Challenges: eleven mechanisms of a fictitious library, and a judge of what students hand in about them.

`library` is the fictitious library; nothing in it says which mechanisms keep their claims. `catalogue` lists the
challenges, and `grading` judges a file, in a process of its own.
"""

from challenges.catalogue import CHALLENGES
from challenges.grading import Grade, grade
from challenges.texts import listed

__all__ = ["CHALLENGES", "Grade", "grade", "listed"]
