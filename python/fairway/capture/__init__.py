"""Captured packets: analysed, replayed and animated."""
