"""`fairway model`: what the analytic models say, one command for each kind of question."""
