"""Debian's packaged kernel: whether it can run here, and the modules that it has to load."""

from __future__ import annotations

from pathlib import Path

import pytest

import fairway
from conftest import command
from fairway.backends.linux import cache, modules, packaged
from fairway.backends.linux.status import Status
from fairway.errors import InputError

EXPERIMENT = """
title = "One flow for two seconds"
duration = "2 s"

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "30 packets" }

[[flow]]
cc = "htcp"
"""
# Lines as depmod writes them: what is needed last stands last.
DEPENDENCIES = """\
kernel/drivers/net/veth.ko:
kernel/fs/ext4.ko:
kernel/net/ipv4/tcp_yeah.ko: kernel/net/ipv4/tcp_vegas.ko
kernel/net/ipv4/tcp_vegas.ko:
kernel/net/ipv4/tcp_bbr.ko.xz:
kernel/net/sched/act-police.ko: kernel/lib/b.ko kernel/lib/c.ko
kernel/net/sched/cls_u32.ko:
kernel/net/sched/sch_fq.ko:
kernel/net/sched/sch_fq_pie.ko: kernel/net/sched/sch_pie.ko
kernel/net/sched/sch_htb.ko:
kernel/net/sched/sch_netem.ko:
kernel/net/sched/sch_pie.ko:
"""
PLAN = {
    "sysctls": [],
    "links": ["link add a netns s type veth peer name b netns r"],
    "namespaces": [
        {"sysctls": [["net/ipv4/tcp_congestion_control", "bbr"]], "tc": []},
        {
            "sysctls": [],
            "tc": [
                "qdisc add dev b root handle 1: netem delay 5ms",
                "qdisc add dev b parent 1: fq_pie limit 100",
                "filter add dev b parent 1: u32 match u32 0 0 action police rate 1mbit",
            ],
        },
    ],
    "flows": [{"cc": "yeah"}, {"cc": "cubic"}],
}


def test_what_a_plan_names_is_loaded_after_what_it_needs(tmp_path):
    (tmp_path / "modules.dep").write_text(DEPENDENCIES)
    files = modules.files(PLAN, tmp_path)
    assert all(Path(file).is_relative_to(tmp_path) for file in files)
    assert [Path(file).name.partition(".")[0] for file in files] == [
        "veth", "tcp_vegas", "tcp_yeah", "tcp_bbr", "c", "b", "act-police", "cls_u32", "sch_pie",
        "sch_fq_pie", "sch_netem",
    ]  # fmt: skip


def test_modules_without_a_list_are_told(tmp_path):
    with pytest.raises(InputError, match=r"modules\.dep: cannot read which modules"):
        modules.files(PLAN, tmp_path)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The package, installed on a processor with AMX, and no other kernel."""
    executable, cpuinfo = tmp_path / "linux.uml", tmp_path / "cpuinfo"
    executable.write_text("#!/bin/sh\nexit 1\n")
    cpuinfo.write_text("processor : 0\nflags : fpu amx_bf16 avx512_fp16 amx_tile amx_int8\n")
    monkeypatch.setattr(packaged, "EXECUTABLE", executable)
    monkeypatch.setattr(packaged, "_CPUINFO", cpuinfo)
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRWAY_KERNEL", raising=False)
    return executable


def test_a_processor_with_amx_is_told_before_anything_is_booted(installed):
    reason = f"kernel {installed} cannot run on this processor, which has AMX"
    assert packaged.kernel(installed) is None
    assert reason in Status().remark
    assert "cannot run on this processor, which has AMX" in "\n".join(Status().lines())
    with pytest.raises(InputError, match="no kernel has been built yet") as caught:
        fairway.run(EXPERIMENT, backend="linux")
    assert reason in str(caught.value)


def test_to_choose_it_on_such_a_processor_is_refused(installed, monkeypatch):
    monkeypatch.setenv("FAIRWAY_KERNEL", str(installed))
    with pytest.raises(InputError, match="cannot run on this processor, which has AMX"):
        cache.find()


def test_where_it_is_not_installed_nothing_is_said(installed, monkeypatch):
    monkeypatch.setattr(packaged, "EXECUTABLE", installed.parent / "nowhere")
    assert packaged.remark() is None
    assert packaged.obstacle(installed.parent / "nowhere") == "not installed"


def test_doctor_never_names_it_as_usable_where_it_is_not():
    if packaged.remark() is None:
        pytest.skip("Debian's user-mode-linux is not installed, or can run here")
    done = command("linux", "status")
    assert f"timers of 10 ms): {packaged.obstacle()}" in done.stdout


def test_an_experiment_runs_on_it(monkeypatch, temporary):
    """In real time: what it measures is checked for its order only."""
    if (reason := packaged.obstacle()) is not None:
        pytest.skip(f"Debian's user-mode-linux: {reason}")
    monkeypatch.setenv("FAIRWAY_KERNEL", str(packaged.EXECUTABLE))
    with pytest.warns(UserWarning, match="has no virtual time"):
        run = fairway.run(EXPERIMENT, backend="linux")
    assert run.summary["kernel"]["virtual_time"] is False
    assert run.metrics["utilisation"] > 0.5
