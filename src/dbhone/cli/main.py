"""The command ``hone``. The only place that prints errors and chooses exit codes.

Exit codes: 0 done, 1 failed, 2 wrong use, 130 interrupted; a command may return one of its own.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dbhone import registry
from dbhone.cli.bisecting import bisects, code_of_failure
from dbhone.cli.context import Context
from dbhone.cli.help import write_commands
from dbhone.errors import HoneError, Interrupted, disk_full
from dbhone.home import locate, make_root
from dbhone.own_version import own_version
from dbhone.safe_text import terminal_safe
from dbhone.sandbox import TRUST_VARIABLE

_DRAWER = "dbhone.cli.commands"
_WIDTH_OF_FILES = 100_000
"""What reads a file or a pipe breaks lines itself, where it shows them at all."""
_READER_GONE = (BrokenPipeError, SystemExit)
"""What is raised when whoever read our output has gone: the second is Rich's."""


class _Commands(click.Group):
    """The commands in the drawer. One is imported only when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(registry.names(_DRAWER))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if ctx.resilient_parsing and cmd_name not in registry.names(_DRAWER):
            return None  # a shell that completes is told of no error
        return self._command(cmd_name)

    def _command(self, name: str) -> click.Command:
        return registry.load(_DRAWER, name, click.Command, what="command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by task, not one long list."""
        names = self.list_commands(ctx)
        write_commands(formatter, {name: self._command(name) for name in names})

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command; what it raises and none of us foresaw is kept in the chosen home."""
        try:
            return super().invoke(ctx)
        except (HoneError, click.ClickException, click.exceptions.Exit, *_READER_GONE):
            raise
        except BaseException as error:
            raise _meaning(error, ctx.params["home"]) from error


def _tell_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Print the version, which is looked up only then."""
    del param
    if wanted and not ctx.resilient_parsing:
        click.echo(f"hone, version {own_version()}")
        ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the version and exit.",
)
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for sources, builds and results: else DBHONE_HOME, else your data folder"
    " (root: /var/lib/dbhone).",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Run programs of sources from the network, and take data of your own, even where no"
    " sandbox can be made.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print results and errors only.")
@click.option("--verbose", "-v", is_flag=True, help="Print every step as a line that stays.")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
@click.pass_context
def hone(
    ctx: click.Context, home: Path | None, trust: bool, quiet: bool, verbose: bool, debug: bool
) -> None:
    """Build a faster database server from the same source, and prove it.

    Begin with `hone try`: it takes your distribution's SQLite from source to a verdict.
    """
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other: give one of them")
    if trust:
        os.environ[TRUST_VARIABLE] = "1"
    ctx.obj = Context(
        home_option=home,
        debug=debug,
        verbose=verbose,
        out=_console(stderr=False),
        err=_console(stderr=True, quiet=quiet),
    )


class SafeConsole(Console):
    """A console to which no text from outside can send a command: all that is printed goes here."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments; those that are not the library's own commands are made safe."""
        for segment in super().render(renderable, options):
            safe = segment.text if segment.control else terminal_safe(segment.text)
            yield segment if safe == segment.text else segment._replace(text=safe)


def _console(*, stderr: bool, quiet: bool = False) -> Console:
    """Return a console; into a file or a pipe, lines are as long as what they say."""
    console = SafeConsole(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_FILES
    return console


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks is written as its number.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _interrupt)
    sys.exit(_run(sys.argv[1:]))


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _run(arguments: list[str]) -> int:
    """Run the command line; return its exit code: of a failure one that git bisect can read."""
    code, failed = _ran(arguments)
    return code_of_failure(code) if failed and bisects(arguments) else code


def _ran(arguments: list[str]) -> tuple[int, bool]:
    """Run the command line; return its exit code, and whether that is of a failure."""
    debug = "--debug" in arguments
    try:
        result = hone.main(args=arguments, prog_name="hone", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return 2, True
    except _READER_GONE:
        # Nothing reads the output any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1, True
    except BaseException as error:  # noqa: BLE001 - the last resort: no user ever sees a traceback
        return _tell(_meaning(error, None), debug=debug), True
    return result if isinstance(result, int) else 0, False


def _meaning(error: BaseException, home: Path | None) -> HoneError:
    """Return the error to tell the user for whatever was raised, with this home or the usual."""
    if isinstance(error, HoneError):
        return error
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted("interrupted")
    full = disk_full(error, "working") if isinstance(error, OSError) else None
    return full or _unexpected(error, home)


def _tell(error: HoneError, *, debug: bool) -> int:
    """Print an error: what failed, where the log is, what to do next."""
    console = _console(stderr=True)
    console.soft_wrap = True
    console.print(Text.assemble(("error:", "bold red"), f" {error.message}"))
    if error.log is not None:
        console.print(Text.assemble(("  log:", "bold"), f" {error.log}"))
    if error.hint is not None:
        console.print(Text.assemble((" next:", "bold"), f" {error.hint}"))
    if debug:
        traceback.print_exception(error)
    return error.exit_code


def _unexpected(error: BaseException, home: Path | None) -> HoneError:
    """Return the error for a bug in hone, its traceback kept in a file."""
    failure = HoneError(
        f"a bug in hone: {type(error).__name__}: {error}",
        hint="please report it with the log; what was finished is kept",
        log=_kept_traceback(error, home),
    )
    failure.__cause__ = error
    return failure


def _kept_traceback(error: BaseException, home: Path | None) -> Path | None:
    """Return where the traceback is kept, None if there is no place for it."""
    try:
        place = locate(home)
        make_root(place)
        place.logs.mkdir(mode=0o700, exist_ok=True)
        log = place.logs / f"fault-{datetime.now(UTC):%Y%m%d-%H%M%S}.log"
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except (OSError, HoneError):
        return None
    return log
