"""Tests of experiments.vectors, and of the files that it writes."""
