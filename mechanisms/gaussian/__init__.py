"""The Gaussian mechanism: additive normal noise, naive and exact."""
