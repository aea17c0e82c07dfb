"""The catastrophe mechanism: everything is published with a small probability, which is all that δ forbids."""
