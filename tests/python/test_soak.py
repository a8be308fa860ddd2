"""What `make soak` does for an hour would find something."""

from __future__ import annotations

import sys

import pytest

from transfer_soak import disturbed_transfer

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")


def test_a_file_that_differs_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("transfer_soak.noise", lambda path, *_: path.write_bytes(b"else") and b"?")
    with pytest.raises(AssertionError, match="differs"):
        disturbed_transfer(3, tmp_path)
