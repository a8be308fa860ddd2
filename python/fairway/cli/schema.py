"""The command `fairway schema`."""

from fairway.cli.terminal import print_json


def schema() -> None:
    """Print the JSON Schema of experiment files, for editors.

    \b
    Example:
      fairway schema > experiment.schema.json
    """
    from fairway.ground import registry

    print_json(registry.schema())
