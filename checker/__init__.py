"""An independent checker of certificates: the standard library, and the mechanism that a certificate speaks of."""
