"""The command `fairway lab`."""

from typer import Option

from fairway.cli.terminal import note


def lab(
    port: int = Option(
        8017, min=0, max=65535, help="TCP port of the page on this computer; 0 takes a free one."
    ),
    is_opened: bool = Option(True, "--open/--no-open", help="Show the page in the browser."),
) -> None:
    """Serve the laboratory as a page: experiments that run in the browser.

    \b
    Examples:
      fairway lab
      fairway lab --port 0 --no-open

    The browser simulates; nothing leaves this computer, and the page needs no network. It is
    served to this computer alone until Ctrl-C.
    """
    import webbrowser

    from fairway.lab.server import address, server

    with server(port) as running:
        note(f"The laboratory: {address(running)}   (Ctrl-C stops it)")
        if is_opened:
            webbrowser.open(address(running))
        running.serve_forever()
