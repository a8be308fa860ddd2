"""Congestion controls of others: what is built in, and which kernel answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairway.backends.linux import build as building
from fairway.backends.linux import cache, extra
from fairway.backends.linux.recipe import recipe
from fairway.errors import InputError
from test_linux_build import fake_tree, needs_tools, own_cache  # noqa: F401

#: A window of 20 segments, whatever happens.
STEADY = """\
#include <linux/module.h>
#include <net/tcp.h>

static void steady_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 20);
}

static u32 steady_ssthresh(struct sock *sk)
{
	return 20;
}

static struct tcp_congestion_ops steady __read_mostly = {
	.ssthresh	= steady_ssthresh,
	.cong_avoid	= steady_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "steady",
};

static int __init steady_register(void)
{
	return tcp_register_congestion_control(&steady);
}
module_init(steady_register);

MODULE_LICENSE("GPL");
"""


def directory(place: Path, **files: str) -> Path:
    place.mkdir()
    for name, text in {"tcp_steady.c": STEADY, **files}.items():
        (place / name).write_text(text)
    return place


def test_a_directory_becomes_a_part_of_the_kernel(tmp_path):
    tree = fake_tree(tmp_path / "tree")
    found = extra.read(directory(tmp_path / "mine", **{"tcp_steady.mod.c": "made by kbuild"}))
    assert found.names == ("tcp_steady",)
    building.prepare(tree, recipe(extras=(found, found)))
    assert (tree / extra.FOLDER / "1" / "tcp_steady.c").read_text() == STEADY
    assert sorted(file.name for file in (tree / extra.FOLDER / "0").iterdir()) == [
        "Makefile", "tcp_steady.c"]  # fmt: skip
    assert (
        (tree / "net/ipv4/Makefile")
        .read_text()
        .endswith("obj-y += fairway-modules/0/\nobj-y += fairway-modules/1/\n")
    )
    assert (tree / extra.FOLDER / "0" / "Makefile").read_text() == (
        "obj-m += tcp_steady.o\n\nobj-y += $(obj-m)\nobj-m :=\nccflags-y += -I$(srctree)/net/ipv4\n"
    )


def test_a_makefile_of_its_own_says_what_it_is_made_of(tmp_path):
    text = "obj-m := tcp_two.o\ntcp_two-objs := tcp_steady.o rules.o\n"
    found = extra.read(directory(tmp_path / "mine", Makefile=text, **{"rules.c": ""}))
    assert found.makefile().startswith(text)
    assert "obj-m += " not in found.makefile()


@pytest.mark.parametrize("name", ["nothing", "file.c", "empty"])
def test_a_directory_without_a_congestion_control_is_refused(tmp_path, name):
    (tmp_path / "file.c").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=rf"--module .*{name}: .*tcp_NAME\.c"):
        extra.read(tmp_path / name)


def test_a_kernel_with_it_answers_where_it_is_needed(tmp_path, monkeypatch):
    needs_tools()
    tree = fake_tree(tmp_path / "tree")
    mine = directory(tmp_path / "mine")
    plain = building.build(tree, quiet=True)
    more = building.build(tree, modules=[mine], quiet=True)
    assert (plain.extras, more.extras) == ((), ("tcp_steady",))
    assert plain.digest != more.digest
    assert building.build(tree, modules=[mine], quiet=True) == more
    assert cache.find() == plain
    assert cache.find(needed=["reno", "cubic"]) == plain
    assert cache.find("6.1", needed=["reno", "steady"]) == more
    # Though the other is the default one.
    monkeypatch.setattr(cache, "default_digest", lambda: plain.digest)
    assert cache.find() == plain
    assert cache.find(needed=["reno", "steady"]) == more
    # An edit of it makes another kernel.
    (mine / "tcp_steady.c").write_text(STEADY.replace("20", "30"))
    other = building.build(tree, modules=[mine], quiet=True)
    assert replace(other, path=more.path, digest=more.digest, built="", build_s=0) == replace(
        more, built="", build_s=0
    )
    assert len(cache.kernels()) == 3
