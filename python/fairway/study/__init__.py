"""Published studies as data: run again, and held against what was published."""
