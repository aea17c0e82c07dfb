"""The exponential mechanism: select an outcome with probability growing exponentially with its utility."""
