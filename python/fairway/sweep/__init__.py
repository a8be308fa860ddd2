"""Many experiments at once: spread over threads or a cluster, kept as they finish, resumed."""
