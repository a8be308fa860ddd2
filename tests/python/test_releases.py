"""Releases of Linux and the presets that are of them."""

import pytest

from fairway.compare import releases
from fairway.ground import registry


def test_the_first_preset_is_the_default():
    assert registry.presets()[0]["name"] == registry.DEFAULT_PRESET


@pytest.mark.parametrize(
    ("kernel", "preset"),
    [
        ("6.1.192", "linux-6.1"),
        ("6.11", "linux-6.1"),
        ("6.12.117", "linux-6.12"),
        ("7.0-rc1", "linux-6.12"),
        ("3.2.0-4", "linux-2.6.27"),
        ("2.4", "linux-6.1"),
        (None, "linux-6.1"),
    ],
)
def test_a_kernel_has_the_preset_of_the_newest_that_is_not_newer(kernel, preset):
    assert releases.preset_of(kernel) == preset


@pytest.mark.parametrize(
    ("stack", "kernel", "advised"),
    [
        ({}, "6.1.192", None),
        ({}, "6.12.117", "linux-6.12"),
        ({"preset": "linux-6.12"}, "6.1.192", "linux-6.1"),
        ({"preset": "linux-6.12"}, "6.12.117", None),
        ({"preset": "rfc5681"}, "6.1.192", None),
    ],
)
def test_a_preset_of_another_release_is_told(stack, kernel, advised):
    said = releases.mismatch({"stack": stack}, [{}, {"kernel": {"release": kernel}}])
    assert (advised is None) == (not said)
    assert advised is None or f"stack.preset={advised} " in said
    assert not releases.mismatch({"stack": stack}, [{}, {}])
