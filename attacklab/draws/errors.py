"""What can be wrong with a sampler whose law is sought."""

from __future__ import annotations

from attacklab.model.errors import TargetError


class LawError(TargetError):
    """The output law of a sampler cannot be found, or what was found is not a probability law."""


class MassExceedsOne(LawError):
    """The probabilities of a law add up to more than 1."""


class OpaqueOutcome(LawError):
    """A sampler returned an outcome whose type and bits cannot be read, so it cannot be told from others."""


class NotDeterministic(LawError):
    """A sampler ran differently on the same bits: it reads other randomness, or keeps state between runs."""


class LooksAtDraws(LawError):
    """A sampler ran differently on plain integers than on `UniformInteger`s, so it can tell the two apart."""


class StateChanged(LawError):
    """A run of a sampler changed something that the sampler reads."""


class OpaqueState(LawError):
    """A sampler reads an object whose state cannot be compared."""


class ForeignCall(LawError):
    """A sampler called a function whose result does not come from its input and its bits alone."""


class NeverEnds(LawError):
    """A sampler returned no outcome within the limits."""


class SamplerFailed(LawError):
    """A sampler raised an exception, which is its cause (`__cause__`)."""


class Contradicted(LawError):
    """Plain runs of a sampler contradict the law that was found for it."""
