"""Noise scaled to the local sensitivity: as a textbook's code does it, and corrected."""
