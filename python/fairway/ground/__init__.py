"""Errors, numbers in words, progress, digests, and directories that are written whole."""
