"""The specimens on which attacks may be developed."""
