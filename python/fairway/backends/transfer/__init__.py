"""Real transfers between hosts: their jobs, how they are followed, and their records.

`jobs` starts and follows them; `record` makes a `Run` of what one has measured; `saving` writes it
in another process, so that a sender stays small; `tables` and `sections` show it.
"""
