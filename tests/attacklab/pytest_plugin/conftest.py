"""What pytest inside pytest uses is imported here: a run in this process forgets what it was the first to import."""

import scipy.special
import scipy.stats  # noqa: F401

import attacklab.attacks
import attacklab.proof
import attacklab.timed_audit  # noqa: F401
