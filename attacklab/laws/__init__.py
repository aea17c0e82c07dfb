"""Exact laws."""
from attacklab.laws.enumeration import Limits, Progress, enumerate_law
from attacklab.laws.law import Bounds, Law
