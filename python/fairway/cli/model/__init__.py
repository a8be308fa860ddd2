"""`fairway model`: what the analytic models say, one command for each kind of question."""

from __future__ import annotations

from fairway.cli.terminal import commands

app = commands()


@app.callback()
def model() -> None:
    """Ask the analytic models: an answer in a millisecond, and how far to trust it.

    \b
    Examples:
      fairway model laws
      fairway model law pftk --loss "1 %" --rtt "100 ms" --rto "1 s"
      fairway model streams --help
    """


from fairway.cli.model import fluid, laws, queues, saturation, streams, wlan  # noqa: E402, F401  (each adds its command)
