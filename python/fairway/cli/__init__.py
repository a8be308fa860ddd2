"""The commands of `fairway`: one file for each, named as the command."""
