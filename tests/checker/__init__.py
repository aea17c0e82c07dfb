"""Tests of the checker of terms."""
