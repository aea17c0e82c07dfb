"""Bounded sums and means: in floating point, naive, and in whole steps of a grid, exact."""
