"""What one experiment gave: a run, its tables and files, and its report."""
