"""Tests of the exponential mechanism."""
