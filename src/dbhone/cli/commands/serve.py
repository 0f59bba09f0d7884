"""``hone serve``: the runs as web pages, for reading."""

from __future__ import annotations

import logging
import threading
import traceback
import webbrowser

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.serve.app import LOG, App
from dbhone.serve.run_service import RunService
from dbhone.serve.server import Place, serve, take_place


@hone_command("serve", Task.LOOK, "hone serve --open")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. By default only this machine can reach it.",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in your browser.")
@pass_context
def command(context: Context, port: int, host: str, open_it: bool) -> None:
    """Show the runs as web pages: their list, their reports, a run in progress, comparisons.

    Nothing can be changed by them. With `hone --verbose` a line is printed for each request. End it
    with Ctrl-C.
    """
    service = RunService(context.home)
    service.check()
    place = take_place(host, port)
    LOG.addHandler(_Teller(context))
    LOG.setLevel(logging.INFO if context.verbose else logging.WARNING)
    context.show_line(f"{place.address}")
    if not place.hosts.loopback:
        context.tell(
            f"Whoever can reach {place.address} can read all runs, and what they reveal of this"
            " machine, its paths and its settings; nobody is asked for a password, nothing is"
            " encrypted, and nothing can be changed."
        )
    if open_it:
        _open(place)
    context.err.print("Ctrl-C ends it.")
    serve(App(service, place.hosts), place)


def _open(place: Place) -> None:
    """Open the user's browser; one that lives in the terminal must not keep us from serving."""
    threading.Thread(target=webbrowser.open, args=(place.address,), daemon=True).start()


class _Teller(logging.Handler):
    """Tells of requests, and of bugs; where in hone a bug is, only with --debug."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        self._context.tell(record.getMessage())
        if record.exc_info and self._context.debug:
            traceback.print_exception(record.exc_info[1])


PLUGIN = command
