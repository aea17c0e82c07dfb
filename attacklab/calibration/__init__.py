"""Calibration: the arithmetic between a claim and a noise scale, held to certified bounds. Nothing is sampled."""

from attacklab.calibration.findings import CalibrationFinding, record
from attacklab.calibration.judging import calibrate
from attacklab.calibration.program import ProgramFormula
from attacklab.calibration.quantities import QUANTITIES, Quantity, Unsafe, quantity

__all__ = [
    "QUANTITIES",
    "CalibrationFinding",
    "ProgramFormula",
    "Quantity",
    "Unsafe",
    "calibrate",
    "quantity",
    "record",
]
