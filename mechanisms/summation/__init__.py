"""Bounded sums and means: in floating point, naive, and in fixed point, exact."""
