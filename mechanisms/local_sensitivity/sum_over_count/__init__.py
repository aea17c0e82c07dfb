"""The mean as a noisy sum over a noisy count."""
