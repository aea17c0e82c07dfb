"""Tests of attacklab.vectors."""
