"""Broken and sound targets, each a row; and what is measured of the lab by them: `attacklab run corpus`."""
