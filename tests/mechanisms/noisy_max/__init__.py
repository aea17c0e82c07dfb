"""Tests of selection by noise."""
