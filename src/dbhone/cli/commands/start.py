"""``hone start RUN SUBJECT``: runs one subject's server, to use it."""

from __future__ import annotations

import contextlib
import shlex
import time

import click

from dbhone.cli import completing
from dbhone.cli.build_service import build_service
from dbhone.cli.context import Context, find_run, open_store, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.setting_up import ensure_installed
from dbhone.experiment.declaration.load import experiment_of, load_named
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.execution.standalone_server import standalone_server
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.goals import missing_for_build
from dbhone.instance.server import Server
from dbhone.source.known_versions import known_versions

_POLL = 0.5


@hone_command(
    "start",
    Task.MEASURE,
    "hone start last pgo",
    "hone start 7 rel",
    "hone start postgresql-builds rel",
)
@click.argument("run", shell_complete=completing.runs_and_experiments)
@click.argument("subject", shell_complete=completing.subjects)
@pass_context
def command(context: Context, run: str, subject: str) -> None:
    """Run the server of one SUBJECT of RUN in the foreground, and print how to connect.

    RUN is a number, `last`, or an experiment, which need not have been run. The server has the
    subject's build, settings and levers, and a fresh copy of the loaded data, which is
    discarded in the end. Ctrl-C ends it.
    """
    experiment = _experiment(context, run)
    with context.session() as session, contextlib.ExitStack() as stack:
        inputs = experiment.subject(subject).inputs
        lacking = missing_for_build(inputs, BuildEstimator(session.home), experiment.workload.name)
        ensure_installed(context, lacking, "this server")
        with build_service(context, session) as service:
            server = stack.enter_context(standalone_server(experiment, subject, service))
        _tell(context, server)
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                server.check()
                time.sleep(_POLL)
        context.err.print("stopping")


def _experiment(context: Context, word: str) -> Experiment:
    if not (word == "last" or word.isdecimal()):
        return load_named(word, known_versions(context.home))
    with open_store(context) as store:
        return experiment_of(find_run(store, word), context.home)


def _tell(context: Context, server: Server) -> None:
    endpoint = server.endpoint
    context.err.print(f"{server.title} runs as process {server.pid}; Ctrl-C ends it.")
    words = endpoint.protocol.client_words(endpoint)
    line = shlex.join(words) if words else str(endpoint.socket)
    context.show_line(line)


PLUGIN = command
