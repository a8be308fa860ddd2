"""Charts, and pages that need no network."""
