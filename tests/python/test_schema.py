"""The command `schema`."""

import json

from conftest import command


def test_the_schema_is_of_an_object():
    assert json.loads(command("schema").stdout)["type"] == "object"
