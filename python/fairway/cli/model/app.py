"""The group of commands `fairway model`."""

from fairway.cli.model import fluid, laws, queues, saturation, streams, wlan
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


app.command("fluid")(fluid.fluid)
app.command("law", context_settings=laws.EXTRA)(laws.law)
app.command("laws")(laws.laws)
app.command()(queues.queue)
app.command()(wlan.wlan)
app.command()(saturation.saturation)
app.command()(streams.streams)
