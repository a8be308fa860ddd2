"""The kernel that answers experiments on `--backend linux`: its sources, its build, its cache."""
