"""The token that lets a sender in, as users give it."""

from __future__ import annotations

import os

#: Where it comes from if nothing else says.
TOKEN_VARIABLE = "FAIRWAY_TOKEN"


def bare(given: str | None) -> str:
    r"""The token, given or from `TOKEN_VARIABLE`, without what is printed before it; may be empty.

    >>> bare("token: ab12\n"), bare("ab12")
    ('ab12', 'ab12')
    """
    text = given or os.environ.get(TOKEN_VARIABLE, "")
    return text.strip().removeprefix("token:").strip()
