"""What is asked of many runs: side by side, agreement, fidelity, tuning and the gallery."""
