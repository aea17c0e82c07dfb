"""The attack that knows nothing of a target: pairs, events and scores learned from outputs alone."""

from attacklab.attacks.black_box.attack import BlackBox

__all__ = ["BlackBox"]
