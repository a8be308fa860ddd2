"""What a captured transfer would have been under other algorithms."""
