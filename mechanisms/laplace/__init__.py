"""The Laplace mechanism and its discrete relatives: naive samplers, exact ones, and Mironov's snapping."""
