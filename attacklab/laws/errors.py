"""What can be wrong with a sampler whose law is sought."""

from __future__ import annotations

from attacklab.errors import TargetError


class LawError(TargetError):
    """A law cannot be found, or is not a law."""


class MassExceedsOne(LawError):
    """The probabilities of a law add up to more than 1."""


class UnhashableOutcome(LawError):
    """A sampler returned an outcome that cannot be hashed, so it cannot be told from others."""


class UnwritableOutcome(LawError, TypeError):
    """A sampler returned an outcome that has no form in JSON, so that its law has no digest."""


class NotDeterministic(LawError):
    """A sampler did not do the same twice on the same bits: it reads other randomness, or keeps state."""


class NeverEnds(LawError):
    """A sampler gave no outcome within the limits."""


class MisplacedRestart(LawError):
    """A restart was marked where the sampler is not back in the state in which it was called."""


class SamplerFailed(LawError):
    """A sampler raised an exception, which is its cause (`__cause__`)."""


class Contradicted(LawError):
    """Plain runs of a sampler contradict the law that was found for it."""
