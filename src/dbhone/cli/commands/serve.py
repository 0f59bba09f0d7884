"""``hone serve``: the runs as web pages, for reading."""

from __future__ import annotations

import threading
import traceback
import webbrowser

import click

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.serve.app import Access, App, Listeners
from dbhone.serve.run_service import RunService
from dbhone.serve.server import Place, serve, take_place
from dbhone.units import duration


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
@click.option("--verbose", is_flag=True, help="Print a line for each request.")
@pass_context
def command(context: Context, port: int, host: str, open_it: bool, verbose: bool) -> None:
    """Show the runs as web pages: their list, their reports, a run in progress, comparisons.

    Nothing can be changed by them. End it with Ctrl-C.
    """
    service = RunService(context.home)
    service.check()
    place = take_place(host, port)
    listeners = Listeners(
        access=lambda access: _tell_access(context, access, verbose=verbose or context.verbose),
        fault=lambda error: _tell_fault(context, error),
    )
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
    serve(App(service, place.hosts, listeners), place)


def _open(place: Place) -> None:
    """Open the user's browser; one that lives in the terminal must not keep us from serving."""
    threading.Thread(target=webbrowser.open, args=(place.address,), daemon=True).start()


def _tell_access(context: Context, access: Access, *, verbose: bool) -> None:
    if verbose:
        took = duration(access.seconds)
        line = f"{access.client} {access.method} {access.path} {access.status} {took}"
        context.tell(line)


def _tell_fault(context: Context, error: Exception) -> None:
    line = f"a bug in hone: {type(error).__name__}: {error}; please report it"
    context.tell(line)
    if context.debug:
        traceback.print_exception(error)


PLUGIN = command
