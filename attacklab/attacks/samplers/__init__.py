"""Models of how floating-point samplers compute: which outputs each can return for a given answer."""
