"""Analytic models: closed forms, fixed points, chains and fluids, each over arrays."""
