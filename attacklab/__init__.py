"""A security test-suite and attack lab for floating-point flaws in differential-privacy implementations."""
