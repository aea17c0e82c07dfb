"""Broken and sound targets written apart from the attacks, to measure what a default audit finds."""
