"""What the base-2 exponential mechanism is made of: its parameter, its precision, its sampling of an index."""
