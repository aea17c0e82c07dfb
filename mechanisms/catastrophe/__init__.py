"""The catastrophe mechanism: everything is published, but only with probability δ, which (0, δ)-DP allows."""
