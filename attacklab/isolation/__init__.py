"""Targets in processes of their own, and the protocol that they speak.

`targets` makes such a target, `process` runs it and waits for its answers, `guard` makes sure that nothing is left
behind, `wire` reads and writes the protocol, and `failures` names what can go wrong. `child` is the program that runs a
Python target in another interpreter; it shares only `codec`, the form in which values travel, with the lab.
"""

from attacklab.isolation.targets import external, isolated

__all__ = ["external", "isolated"]
