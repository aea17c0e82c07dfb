"""The parts of the base-2 exponential mechanism: its parameter, its precision, its sampling of an index."""
