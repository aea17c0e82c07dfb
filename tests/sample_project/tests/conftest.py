"""Which mechanisms the tests audit."""

from __future__ import annotations

import noisy
import pytest


@pytest.fixture(params=["laplace_count", "geometric_count"])
def mechanism(request):
    """A mechanism, by its name."""
    return getattr(noisy, request.param)
