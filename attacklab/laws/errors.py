"""What can be wrong with a sampler whose law is asked for."""

from __future__ import annotations

from attacklab.errors import TargetError


class LawError(TargetError):
    """A law cannot be found, or is none."""


class MassExceedsOne(LawError):
    """The probabilities of a law add up to more than 1."""


class UnhashableOutcome(LawError):
    """A sampler returned an outcome that cannot be told from others by hashing."""


class UnwritableOutcome(LawError, TypeError):
    """A sampler returned an outcome that has no form in JSON, so that its law has no digest."""


class NotDeterministic(LawError):
    """A sampler did not do the same twice on the same bits: it reads other randomness, or keeps a state."""


class NeverEnds(LawError):
    """A sampler gave no outcome within the limits."""


class MisplacedRestart(LawError):
    """A restart was marked by a function that is not back in the state in which the sampler was called."""


class SamplerFailed(LawError):
    """A sampler raised an exception, which is its cause (`__cause__`)."""
