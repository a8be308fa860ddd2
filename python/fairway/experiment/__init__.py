"""Experiment files: read, planned, and the scenarios that come with Fairway."""
