"""The attack that knows nothing of how a target works: it learns pairs, events and scores from outputs alone."""

from attacklab.attacks.black_box.attack import BlackBox

__all__ = ["BlackBox"]
