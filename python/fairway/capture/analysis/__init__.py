"""Captures explained: tables, diagrams and files of what `fairway.analyze` has found."""
