"""Targets in processes of their own, and the protocol that they speak."""

from attacklab.isolation.targets import external, isolated

__all__ = ["external", "isolated"]
