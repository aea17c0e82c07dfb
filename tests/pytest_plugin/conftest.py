"""What pytest inside pytest uses is imported here: a run in this process forgets what it was the first to import."""

import scipy.special
import scipy.stats  # noqa: F401
