"""Whether two backends agree: the same experiment on both, several seeds each, held together."""
