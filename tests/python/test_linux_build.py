"""Building a kernel: edits, cache, and what is said when something is missing."""

import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import command
from fairway.backends.linux import build as building
from fairway.backends.linux import cache, packaged, source, tools
from fairway.backends.linux.compile import BuildFailed, missing_options
from fairway.backends.linux.kernel import Kernel
from fairway.backends.linux.recipe import (
    CLOCK,
    COPIES,
    DEVICES,
    DUMPS,
    EDITS,
    HZ,
    PROGRAMS,
    RANDOMNESS,
    RANGES,
    READINGS,
    REGISTERS,
    TASKS,
    TIMERS,
    apply,
    recipe,
)
from fairway.errors import InputError
from waiting import PATIENCE_S, until

KCONFIG = "config MORE\n\tint\n\nconfig HZ\n\tint\n\tdefault 100\n\nconfig NR_CPUS\n"
FORMATS = 'config COREDUMP\n\tbool "Enable core dump support" if EXPERT\n\tdefault y\n\thelp\n'
OFFSETS = "#ifdef FP_XSTATE_MAGIC1\n\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n#else\n"
UTIL = """\
#include <stdio.h>

ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return getrandom(buf, len, flags);
}
"""
SIGNALS = """\
static void timer_real_alarm_handler(mcontext_t *mc)
{
	struct uml_pt_regs regs;

	if (mc != NULL)
		get_regs_from_mc(&regs, mc);
	else
		memset(&regs, 0, sizeof(regs));
	timer_handler(SIGALRM, NULL, &regs);
}
"""
TASK = """\
void arch_switch_to(struct task_struct *to)
{
	if ((to->thread.arch.fs == 0) || (to->mm == NULL))
		return;

	arch_prctl(to, ARCH_SET_FS, (void __user *) to->thread.arch.fs);
}
"""
CLOCK_OF_TREE = "#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n"
TIME = """\
void time_travel_ndelay(unsigned long nsec)
{
	time_travel_update_time_rel(nsec);
}

static int itimer_next_event(unsigned long delta, struct clock_event_device *evt)
{
	delta += 1;
	return 0;
}

static u64 timer_read(struct clocksource *cs)
{
		if (!irqs_disabled() && !in_interrupt() && !in_softirq())
			time_travel_update_time_rel(TIMER_MULTIPLIER);
		return time_travel_time / TIMER_MULTIPLIER;
}
"""
HRTIMER = """\
			if (basenow < hrtimer_get_softexpires_tv64(timer))
				break;
"""
#: Answers `make allnoconfig` and `make linux` without compiling anything.
MAKEFILE = """\
allnoconfig:
	cp $(KCONFIG_ALLCONFIG) .config
linux:
	@echo "  CC      fake.o"
	mkdir -p include/config && echo 6.1.999 > include/config/kernel.release
	printf 'not a kernel' > linux
"""


TRACED = "\tif (ptrace(PTRACE_OLDSETOPTIONS, pid, NULL, (void *) PTRACE_O_TRACESYSGOOD) < 0) {\n"
COPIED = TRACED.replace("(void *) ", "(void *)")


def fake_tree(place: Path, **files: str) -> Path:
    """A source tree that is just large enough, with files replaced by keyword."""
    texts = {
        "Makefile": MAKEFILE,
        "Kbuild": "",
        "arch/um/Kconfig": KCONFIG,
        "fs/Kconfig.binfmt": FORMATS,
        "arch/x86/um/user-offsets.c": OFFSETS,
        "arch/um/os-Linux/util.c": UTIL,
        "arch/um/os-Linux/signal.c": SIGNALS,
        "arch/x86/um/syscalls_64.c": TASK,
        PROGRAMS.file: TRACED + COPIED,
        "arch/um/include/linux/time-internal.h": CLOCK_OF_TREE,
        "arch/um/kernel/time.c": TIME,
        "kernel/time/hrtimer.c": HRTIMER,
        "arch/um/drivers/Makefile": "obj-y := stdio_console.o fd.o\n",
        "net/ipv4/Makefile": "obj-y := tcp.o",
        **files,
    }
    for name, text in texts.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Neither the user's kernels nor the machine's packages play a part."""
    monkeypatch.setenv("FAIRWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRWAY_KERNEL", raising=False)
    (tmp_path / "src").mkdir()
    sources = source.packaged
    monkeypatch.setattr(source, "packaged", lambda: sources(tmp_path / "src"))
    monkeypatch.setattr(packaged, "kernel", lambda: None)


def needs_tools():
    if absent := tools.missing(tools.BUILD):
        pytest.skip(f"not installed: {', '.join(tool.name for tool in absent)}")


def test_the_edits_change_what_they_name_and_nothing_else(tmp_path):
    tree = fake_tree(tmp_path / "tree")
    assert apply(tree) == ([*EDITS], [])
    assert (tree / HZ.file).read_text() == KCONFIG.replace("default 100\n", "default 1000\n")
    assert (tree / DUMPS.file).read_text() == FORMATS.replace("default y", "default n")
    assert (tree / REGISTERS.file).read_text() == OFFSETS.replace("2696", "12288")
    util = (tree / RANDOMNESS.file).read_text()
    assert "return fairway_getrandom(buf, len, flags);" in util
    assert '#include "fairway_random.h"' in util
    signals = (tree / TIMERS.file).read_text()
    assert "sizeof(regs))" not in signals
    tasks = (tree / TASKS.file).read_text()
    assert "arch_prctl" not in tasks
    assert tasks.endswith("return;\n\n\tto->thread.regs.regs.gp[FS_BASE / sizeof(unsigned long)] "
                          "= to->thread.arch.fs;\n}\n")  # fmt: skip
    both = "(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))"
    programs = (TRACED + COPIED).replace("PTRACE_O_TRACESYSGOOD)", both)
    assert (tree / PROGRAMS.file).read_text() == programs
    clock = (tree / CLOCK.file).read_text()
    assert clock == CLOCK_OF_TREE.replace("256", "1").replace("500", "1")
    time = (tree / READINGS.file).read_text()
    assert time.count("if (times < 100)") == 2
    assert "time_travel_update_time_rel(256);" in time
    assert time.count("delta += time_travel_mode == TT_MODE_OFF;") == 1
    hrtimer = (tree / RANGES.file).read_text()
    assert hrtimer == HRTIMER.replace("softexpires", "expires")
    drivers = (tree / DEVICES.file).read_text()
    assert drivers.endswith("\n\nobj-y := fairway.o stdio_console.o fd.o\n")
    assert signals.endswith("\t}\n\ttimer_handler(SIGALRM, NULL, &regs);\n}\n")


def test_without_the_edit_of_devices_a_kernel_has_no_network_of_ours(tmp_path):
    tree = fake_tree(tmp_path / "tree")
    _, applied = building.prepare(tree, recipe())
    assert DEVICES in applied
    assert "fairway_network_open" in (tree / "arch/um/drivers/fairway_user.c").read_text()
    other = fake_tree(tmp_path / "other", **{DEVICES.file: "obj-y := fd.o\n"})
    warnings, applied = building.prepare(other, recipe())
    assert DEVICES not in applied
    assert 'network = "tc"' in warnings[0]
    assert not (other / "arch/um/drivers/fairway_user.c").exists()


def test_no_edit_is_in_the_network_stack():
    places = ("arch/um/", "arch/x86/um/", "kernel/time/", "fs/Kconfig")
    assert all(edit.file.startswith(places) for edit in EDITS)


def test_a_tree_without_the_timer_frequency_is_refused_by_file_and_text(tmp_path):
    tree = fake_tree(tmp_path / "tree", **{"arch/um/Kconfig": "config HZ\n\tint\n\tdefault 250\n"})
    with pytest.raises(InputError, match="arch/um/Kconfig") as refusal:
        apply(tree)
    assert r"config HZ\n\tint\n\tdefault 100" in str(refusal.value)
    assert "not found" in str(refusal.value)


def test_a_text_that_is_there_twice_is_not_edited(tmp_path):
    tree = fake_tree(tmp_path / "tree", **{"arch/um/Kconfig": KCONFIG + KCONFIG})
    with pytest.raises(InputError, match="2 times"):
        apply(tree)
    assert (tree / HZ.file).read_text() == KCONFIG + KCONFIG


def test_without_the_edit_of_randomness_runs_differ_and_that_is_said(tmp_path):
    tree = fake_tree(tmp_path / "tree", **{RANDOMNESS.file: "int os_random;\n"})
    warnings, applied = building.prepare(tree, recipe())
    assert RANDOMNESS not in applied
    assert len(warnings) == 1
    assert "two runs of one experiment will differ" in warnings[0]
    assert not (tree / "arch/um/os-Linux/fairway_random.h").exists()


def test_kernels_that_ask_the_processor_for_its_registers_need_no_edit(tmp_path):
    newer = {REGISTERS.file: "int main;\n",
             "arch/x86/um/os-Linux/registers.c": "unsigned long host_fp_size;\n"}  # fmt: skip
    applied = [edit for edit in EDITS if edit != REGISTERS]
    assert apply(fake_tree(tmp_path / "newer", **newer)) == (applied, [])
    _, warnings = apply(fake_tree(tmp_path / "unknown", **{REGISTERS.file: "int main;\n"}))
    assert "processors with AMX" in warnings[0]


def test_kernels_whose_tasks_keep_their_thread_pointer_need_no_edit(tmp_path):
    tree = fake_tree(
        tmp_path / "newer", **{TASKS.file: "/* Nothing needs to be done on x86_64. */"}
    )
    assert apply(tree) == ([edit for edit in EDITS if edit != TASKS], [])


def test_kernels_that_copy_no_processes_need_no_edit_of_copies(tmp_path):
    said = '"%s : PTRACE_SETOPTIONS failed, errno = %d\\n"'
    tree = fake_tree(tmp_path / "newer", **{PROGRAMS.file: TRACED + said})
    assert apply(tree) == ([edit for edit in EDITS if edit != COPIES], [])
    _, warnings = apply(fake_tree(tmp_path / "unknown", **{PROGRAMS.file: TRACED}))
    assert "may leave its programs running on this machine" in warnings[0]


def test_every_congestion_control_in_the_data_is_named_in_the_makefile(tmp_path):
    tree = fake_tree(tmp_path / "tree")
    ours = replace(
        recipe(), modules=(("tcp_a.c", "/* a */"), ("tcp_b.c", "/* b */")),
        headers=(("a_rules.h", "/* h */"),),
    )  # fmt: skip
    building.prepare(tree, ours)
    assert (tree / "net/ipv4/tcp_a.c").read_text() == "/* a */"
    assert (tree / "net/ipv4/a_rules.h").read_text() == "/* h */"
    assert (tree / "net/ipv4/Makefile").read_text().split("\n") == [
        "obj-y := tcp.o", "obj-y += tcp_a.o", "obj-y += tcp_b.o", ""]  # fmt: skip


def test_a_file_of_the_kernel_is_not_replaced(tmp_path):
    tree = fake_tree(tmp_path / "tree", **{"net/ipv4/tcp_a.c": "the kernel's own"})
    with pytest.raises(InputError, match="has a file of that name already"):
        building.prepare(tree, replace(recipe(), modules=(("tcp_a.c", ""),)))


def test_the_digest_changes_with_each_input():
    ours = recipe()
    other = [
        replace(ours, fragment=ours.fragment + "CONFIG_X=y\n"),
        replace(ours, random=ours.random + "\n"),
        replace(ours, edits=(replace(HZ, replace="default 250"), *EDITS[1:])),
        replace(ours, modules=(*ours.modules, ("tcp_new.c", ""))),
        replace(ours, headers=(*ours.headers, ("new_rules.h", ""))),
    ]
    digests = {ours.digest("a"), ours.digest("b"), *(each.digest("a") for each in other)}
    assert len(digests) == 7
    # Words that nobody compiles do not count.
    assert replace(ours, edits=(replace(HZ, why="?"), *EDITS[1:])).digest("a") == ours.digest("a")


def test_what_a_fragment_asks_for_is_looked_up_by_group():
    fragment = "# Needed.\nCONFIG_A=y\nCONFIG_B=3\n\n# Optional: nice.\nCONFIG_C=y\nCONFIG_D=y\n"
    assert missing_options(fragment, "CONFIG_A=y\nCONFIG_B=4\nCONFIG_C=y\n") == (
        ["CONFIG_B=3"], ["CONFIG_D=y"])  # fmt: skip
    assert missing_options(fragment, fragment) == ([], [])
    # An option that shall be off is there with a value, with none, or not at all.
    off = "# CONFIG_E is not set"
    for configuration, lacking in (("CONFIG_E=y", [off]), ('CONFIG_E=""', [off]), (off, []),
                                   ("CONFIG_EF=y", [])):  # fmt: skip
        assert missing_options(off, configuration) == (lacking, [])


def test_a_kernel_with_core_dumps_or_helpers_is_not_built():
    fragment = recipe().fragment
    configuration = fragment.replace("# CONFIG_COREDUMP is not set", "CONFIG_COREDUMP=y")
    assert missing_options(fragment, configuration) == (["# CONFIG_COREDUMP is not set"], [])
    for option in ("CONFIG_STATIC_USERMODEHELPER=y", 'CONFIG_STATIC_USERMODEHELPER_PATH=""'):
        assert missing_options(fragment, fragment.replace(option, "")) == ([option], [])


def test_missing_tools_are_listed_with_one_command(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = command("linux", "build")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "gcc, ld" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert "apt-get install" in last
    assert {"gcc", "binutils", "make", "flex", "bison", "bc", "xz-utils"} <= set(last.split())


def test_without_a_source_the_package_is_named():
    with pytest.raises(tools.ToolsMissing, match=r"apt-get install linux-source-6\.1"):
        building.build()


def test_build_status_and_a_second_call(tmp_path, monkeypatch):
    needs_tools()
    tree = fake_tree(tmp_path / "tree")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    monkeypatch.setenv("MAKEFLAGS", "--environment-overrides --no-such-option")
    built = building.build(tree, quiet=True)
    assert built.release == "6.1.999"
    assert built.path.read_bytes() == b"not a kernel"
    assert built.repeatable
    assert built.virtual_time
    assert built.boot == ("time-travel=inf-cpu", "time-travel-start=1000000000")
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    # Only the kernel, and what the cache keeps for itself.
    assert [path.name for path in cache.root().iterdir() if path.name != ".lock"] == [
        built.path.parent.name]  # fmt: skip
    assert {path.name for path in built.path.parent.iterdir()} == {
        "linux", "config", "build.log", "kernel.json"}  # fmt: skip

    started = time.perf_counter()
    assert building.build(tree, quiet=True) == built
    assert time.perf_counter() - started < 0.5
    assert cache.find() == built
    assert cache.find("6.1") == built
    with pytest.raises(InputError, match=r"--kernel 6\.1\.99: no kernel .*\(built: 6\.1\.999\)"):
        cache.find("6.1.99")
    monkeypatch.setenv("FAIRWAY_KERNEL", "6.1")
    assert cache.find() == built
    monkeypatch.setenv("FAIRWAY_KERNEL", str(built.path))
    assert cache.find() == built

    again = building.build(tree, quiet=True, force=True, keep=True)
    assert replace(again, built="", build_s=0) == replace(built, built="", build_s=0)
    assert (cache.root() / f"{built.path.parent.name}-tree" / "linux").is_file()
    assert cache.kernels() == [again]


def test_a_failed_build_says_why_and_leaves_its_log(tmp_path):
    needs_tools()
    broken = MAKEFILE.replace("printf 'not a kernel' > linux", "@echo 'a.c:1: error: no'; exit 3")
    tree = fake_tree(tmp_path / "tree", Makefile=broken)
    with pytest.raises(BuildFailed, match=r"a\.c:1: error: no") as failure:
        building.build(tree, quiet=True)
    assert str(cache.root() / "failed-build.log") in str(failure.value)
    assert {path.name for path in cache.root().iterdir()} == {".lock", "failed-build.log"}


def test_a_configuration_without_what_is_needed_is_refused(tmp_path):
    needs_tools()
    poor = MAKEFILE.replace(
        "cp $(KCONFIG_ALLCONFIG)", "grep -v -e VETH= -e FTRACE= $(KCONFIG_ALLCONFIG) >"
    )
    tree = fake_tree(tmp_path / "tree", Makefile=poor)
    with pytest.raises(InputError, match="lacks what experiments need: CONFIG_VETH=y;"):
        building.build(tree, quiet=True)


def test_an_interrupted_build_leaves_nothing(tmp_path):
    needs_tools()
    slow = MAKEFILE.replace("printf 'not a kernel' > linux", "echo $$PPID > ../make.pid; sleep 999")
    tree = fake_tree(tmp_path / "tree", Makefile=slow)
    with subprocess.Popen(
        [sys.executable, "-m", "fairway", "linux", "build", "--source", str(tree), "--quiet"],
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        written = [""]

        def has_begun():
            written[:] = [path.read_text() for path in cache.root().glob(".building-*/make.pid")]
            return any(written)

        until(has_begun, process)
        make = int(written[0])
        process.terminate()
        complaint = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 143
    assert complaint == "fairway: stopped; nothing was kept of this build\n"
    assert [path.name for path in cache.root().iterdir()] == [".lock"]
    with pytest.raises(ProcessLookupError):
        os.kill(make, 0)


def test_what_a_killed_build_has_left_is_removed_by_the_next(tmp_path):
    needs_tools()
    left = cache.root() / ".building-left"
    left.mkdir(parents=True)
    building.build(fake_tree(tmp_path / "tree"), quiet=True)
    assert not left.exists()


def test_status_without_anything(tmp_path):
    done = command("linux", "status", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {
        "ready", "current", "kernel", "kernels", "cache", "sources", "build_tools_missing",
        "run_tools_missing", "packaged", "next"}  # fmt: skip
    assert found["kernels"] == []
    assert found["current"] is False
    assert found["next"][-1] == "fairway linux build"
    assert not (cache.root() / ".lock").exists()


def test_a_kernel_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRWAY_KERNEL", "5.10")
    with pytest.raises(InputError, match=r"FAIRWAY_KERNEL=5\.10: no kernel of that release"):
        cache.find()
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(stat.S_IRWXU)
    monkeypatch.setenv("FAIRWAY_KERNEL", str(script))
    with pytest.raises(InputError, match="no User-Mode Linux kernel"):
        cache.find()
    monkeypatch.setenv("FAIRWAY_KERNEL", str(tmp_path / "nothing"))
    done = command("linux", "status")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_damaged_entry_of_the_cache_is_no_kernel():
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"release": 1}'), ("d", None)):
        (cache.root() / name).mkdir(parents=True)
        if text is not None:
            (cache.root() / name / "kernel.json").write_text(text)
    assert cache.kernels() == []
    assert cache.find() is None


def test_a_kernel_that_is_there_is_not_built_again(monkeypatch):
    monkeypatch.undo()
    kernel = cache.find()
    if kernel is None or kernel.digest != cache.default_digest():
        pytest.skip("no kernel of this version in the cache: fairway linux build")
    before = kernel.path.stat()
    done = command("linux", "build", "--json")
    assert json.loads(done.stdout) == kernel.to_json()
    after = kernel.path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_name_that_fits_kernels_of_several_series_is_refused(monkeypatch):
    def built(*releases):
        found = [Kernel(Path("/k"), release, True, True) for release in releases]
        monkeypatch.setattr(cache, "kernels", lambda: found)

    built("6.12.57", "6.1.192", "6.1.190")
    with pytest.raises(InputError, match=r"^--kernel 6: fits several .*; write 6\.1 or 6\.12$"):
        cache.find("6")
    chosen = [cache.find(name) for name in ("6.12", "6.1", "6.1.190")]
    assert [kernel.release for kernel in chosen] == ["6.12.57", "6.1.192", "6.1.190"]
    # A number ends at a dot.
    with pytest.raises(InputError, match="no kernel of that release"):
        cache.find("6.12.5")
    built("6.1.192", "6.1.190")
    assert cache.find("6").release == "6.1.192"
