"""Tests of attacklab.calibration."""
