"""The mean with noise scaled to its smooth sensitivity."""
