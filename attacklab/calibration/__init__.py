"""Calibration: the arithmetic between a claim and a noise scale, held to certified bounds. Nothing is sampled."""

from attacklab.calibration.judging import CalibrationFinding, calibrate, record
from attacklab.calibration.quantities import QUANTITIES, Quantity, Unsafe, quantity

__all__ = ["QUANTITIES", "CalibrationFinding", "Quantity", "Unsafe", "calibrate", "quantity", "record"]
