"""Golden traces, and how closely the simulator follows them."""
