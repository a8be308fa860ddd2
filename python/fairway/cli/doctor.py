"""The command `fairway doctor`."""

import importlib
import platform
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer import Argument, Option

from fairway.cli.terminal import Json, print_json, print_text, size, wrapped
from fairway.errors import InputError
from fairway.ground.extras import COMMAND, LIBRARIES, is_installed
from fairway.ground.text import milliseconds

if TYPE_CHECKING:
    from fairway.host import Advice, Path, Settings
    from fairway.host.rtt import RoundTrip


#: Largest rate in bit/s and longest round-trip time in seconds that are judged; more is a mistake.
FASTEST_BPS, LONGEST_S = 10**15, 3600.0


Status = Literal["ok", "optional", "missing"]

#: Libraries that every installation has, and their modules.
_LIBRARIES = {"jinja2": "jinja2", "numpy": "numpy", "rich": "rich", "tomli-w": "tomli_w",
              "typer": "typer"}  # fmt: skip


def doctor(
    host: str | None = Argument(
        None,
        metavar="[HOST[:PORT]]",
        help="The other side: finds the route to it and measures the round-trip time.",
        show_default=False,
    ),
    rate: str | None = Option(None, metavar="RATE", help='Target rate: "10 Gbit/s".'),
    rtt: str | None = Option(None, metavar="TIME", help='Round-trip time: "200 ms".'),
    loss: str | None = Option(None, metavar="SHARE", help='Random loss of packets: "0.01 %".'),
    streams: int = Option(1, min=1, max=100_000, help="Connections that share the work."),
    cc: str | None = Option(None, metavar="NAME", help="Congestion control of the sender."),
    mss: int | None = Option(
        None,
        parser=size(88, 65535),
        metavar="SIZE",
        help="Payload of a packet.  [default: by the MTU]",
    ),
    role: Literal["send", "receive", "both"] = Option("both", help="What this host does."),
    as_json: Json = False,
) -> None:
    """Show what is installed, or what this host allows a transfer on a path.

    With a host or a round-trip time: says how much one stream can carry with this
    host's buffers, which setting bounds it, which lines would lift that, and how
    many streams do without. Changes nothing.

    \b
    Examples:
      fairway doctor
      fairway doctor --rate "10 Gbit/s" --rtt "200 ms"
      fairway doctor example.org:22 --rate "1 Gbit/s" --role send --cc htcp
      fairway doctor --rate "10 Mbit/s" --rtt "200 ms" --loss "0.1 %" --json

    Exits with 1 if something needed is missing or a host does not answer.
    """
    if host is None and rtt is None:
        _refuse_without_path(
            rate=rate, loss=loss, cc=cc, mss=mss, streams=streams > 1, role=role != "both"
        )
        _installation(as_json)
        return
    settings, path, measured = _judged(host, rate, rtt, loss, mss)
    from fairway.host import advise

    path = replace(path, streams=streams, cc=cc)
    advice = advise(settings, path, role)
    if as_json:
        seen = asdict(measured) if measured else None
        print_json({"settings": settings.to_json(), "measured": seen, **advice.to_json()})
    else:
        _show(settings, measured, advice)


def _installation(as_json: bool) -> None:
    found = _examine()
    healthy = all(check.status != "missing" for check in found)
    if as_json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in found]})
    else:
        for check in found:
            print_text(f"{check.status:9} {check.name:18} {check.found}")
            if check.remedy:
                print_text(f"{'':28} {check.remedy}")
    if not healthy:
        raise typer.Exit(1)


def _refuse_without_path(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise InputError(
                f'--{name}: needs a round-trip time; add --rtt "200 ms", or HOST to measure it'
            )


def _judged(
    host: str | None, rate: str | None, rtt: str | None, loss: str | None, mss: int | None
) -> "tuple[Settings, Path, RoundTrip | None]":
    """What is to be judged; only what the user did not say is measured."""
    from fairway.ground import quantities
    from fairway.host import Path, settings
    from fairway.host.advice.interface import HEADERS
    from fairway.host.network import default_interface
    from fairway.host.rtt import measure, split
    from fairway.host.windows import USUAL_MSS

    said_rate = quantities.rate_bps(rate, "--rate")
    if said_rate is not None and not 0 < said_rate <= FASTEST_BPS:
        raise InputError(f'--rate: expected more than 0 and at most 1000 Tbit/s, got "{rate}"')
    said_rtt = quantities.seconds(rtt, "--rtt")
    if said_rtt is not None and not 0 < said_rtt <= LONGEST_S:
        raise InputError(f'--rtt: expected more than 0 and at most 1 h, got "{rtt}"')
    said_loss = quantities.share(loss, "--loss") if loss is not None else None
    measured = None
    name, port = split(host) if host is not None else (None, None)
    found = settings(name, interface=None if name else default_interface())
    if said_rtt is None:
        assert found.route is not None
        measured = measure(found.route.address, port)
        said_rtt = measured.least_s
    mtu = found.route.mtu_bytes if found.route else None
    by_mtu = mtu - HEADERS if mtu is not None and mtu > 2 * HEADERS else USUAL_MSS
    path = Path(said_rtt, said_rate, said_loss, mss_bytes=mss or by_mtu)
    return found, path, measured


def _show(settings: "Settings", measured: "RoundTrip | None", advice: "Advice") -> None:
    if settings.route is not None:
        route = settings.route
        way = f" by {route.interface}" if route.interface else ""
        through = f" through {route.gateway}" if route.gateway else ""
        _say(f"{route.address} is reached from {route.source}{way}{through}.")
    if measured is not None:
        how = measured.how + (f", port {measured.port}" if measured.port else "")
        _say(f"The round-trip time is {milliseconds(measured.least_s)} ({how}).")
    if advice.path.rate_bps is None:
        _say('What a rate would need is told with --rate "1 Gbit/s".')
    topic = ""
    for statement in advice.statements:
        if statement.topic != topic:
            topic = statement.topic
            print_text(f"\n{topic.capitalize()}")
        _say(statement.text, f"  {statement.kind:8}")
    print_text("\nThe other side")
    for sentence in advice.other_side:
        _say(sentence, f"  {'':8}")
    if not advice.changes:
        return
    print_text("\nWhat would lift this host's limits (as root; nothing has been changed):\n")
    for change in advice.changes:
        _say(change.why, "# ")
        print_text(change.line)
    print_text()
    _say(
        "To keep them over a restart, put name = value in /etc/sysctl.d/90-transfer.conf and run "
        "sysctl --system. In a container, net.core is the host's to set."
    )


def _say(text: str, label: str = "") -> None:
    """A sentence, wrapped below its label; a comment's lines are all comments."""
    print_text(wrapped(text, label, "# " if label == "# " else None))


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        status: "ok", "optional" if something that is not needed is absent, "missing" if needed.
        remedy: What to do, if something is absent.
    """

    name: str
    status: Status
    found: str
    remedy: str = ""


def _examine() -> list[Check]:
    """Look at everything Fairway uses."""
    from fairway.sweep.threads import available_cores

    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return [
        Check("Python", "ok", version),
        _core(),
        *map(_library, _LIBRARIES),
        *map(_extra, LIBRARIES),
        _studies(),
        Check("cores", "ok", str(available_cores())),
        _disk(),
        _linux_kernel(),
        _wall(),
        _iproute2(),
        _program("ns-2", ("ns", "ns2"), "ns2", "to compare speed and results with ns-2"),
        _program("iperf3", ("iperf3",), "iperf3", "to measure with a stock iperf3 at one end"),
    ]


def _core() -> Check:
    try:
        program = importlib.import_module("fairway.ground.program")
        algorithms = importlib.import_module("fairway.ground.registry").algorithms()
    except ImportError as error:
        return Check("simulator", "missing", str(error), "install Fairway again: make build")
    return Check("simulator", "ok", f"version {program.named()}, {len(algorithms)} algorithms")


def _library(name: str) -> Check:
    import importlib.metadata  # brings csv, email and socket, which every command would load

    try:
        importlib.import_module(_LIBRARIES[name])
        return Check(name, "ok", importlib.metadata.version(name))
    except ImportError as error:
        return Check(name, "missing", str(error), f"python -m pip install {name}")


def _extra(module: str) -> Check:
    import importlib.metadata

    library = LIBRARIES[module]
    if not is_installed(module):
        return Check(library.package, "optional", f"not installed: {library.purpose}", COMMAND)
    version = importlib.metadata.version(library.package)
    return Check(library.package, "ok", f"{version}: {library.purpose}")


def _studies() -> Check:
    from fairway.study.files import keys

    found = keys()
    if not found:
        return Check("studies", "missing", "none", "install Fairway again: make build")
    return Check("studies", "ok", ", ".join(found))


def _disk() -> Check:
    free = shutil.disk_usage(FilePath.cwd()).free / 1e9
    if free < 0.5:
        return Check("disk here", "optional", f"{free:.1f} GB free", "results may not fit here")
    return Check("disk here", "ok", f"{free:.1f} GB free")


def _linux_kernel() -> Check:
    from fairway.backends.linux.status import Status as KernelStatus

    try:
        found = KernelStatus()
    except InputError as error:
        return Check("linux kernel", "optional", str(error), "correct or unset FAIRWAY_KERNEL")
    remedy = "; then: ".join(found.advice())
    if found.kernel is None:
        what = "none, so no --backend linux" + (f"; {found.remark}" if found.remark else "")
        return Check("linux kernel", "optional", what, remedy)
    if not found.kernel.virtual_time:
        what = f"{found.kernel.release} in real time: slow and imprecise ({found.kernel.path})"
        return Check("linux kernel", "optional", what, remedy)
    what = f"{found.kernel.release} in virtual time ({found.kernel.path})"
    return Check("linux kernel", "ok", what, remedy)


def _wall() -> Check:
    from fairway.backends.linux.confinement import confinement

    found = confinement()
    if found.is_there:
        return Check("wall of kernels", "ok", found.text)
    return Check("wall of kernels", "optional", found.text, found.remedy)


def _iproute2() -> Check:
    from fairway.backends.linux import tools

    if absent := tools.missing(tools.RUN):
        names = ", ".join(tool.name for tool in absent)
        remedy = f"{tools.install_command([tool.package for tool in absent])} (for --backend linux)"
        return Check("iproute2", "optional", f"not found: {names}", remedy)
    return Check("iproute2", "ok", ", ".join(tool.path() or "" for tool in tools.RUN))


def _program(name: str, programs: tuple[str, ...], package: str, purpose: str) -> Check:
    found = next(filter(None, map(shutil.which, programs)), None)
    if found is None:
        return Check(
            name, "optional", "not installed", f"apt-get install {package} (only {purpose})"
        )
    return Check(name, "ok", found)
