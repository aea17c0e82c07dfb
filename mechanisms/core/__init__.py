"""What exact mechanisms are put together from: constructors, laws of noise, and the sampler that they share."""
