"""The clients of servers: they load data, do the workload, and check what the servers answer."""

from __future__ import annotations

import contextlib
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant, check_readable
from dbhone.command import Command
from dbhone.errors import DriverError
from dbhone.experiment.declaration.model import TrainingCommand
from dbhone.experiment.target.order import BlockSeed
from dbhone.files import digest_of
from dbhone.home import make_folder
from dbhone.instance.client import connect
from dbhone.instance.programs import keep_log
from dbhone.instance.server import Server
from dbhone.program_folders import program_folders
from dbhone.sandbox import Sandbox
from dbhone.session import Notify, Session
from dbhone.untrusted_files import remove_tree
from dbhone.workload.drive import DriverCommand, DriverResult, drive
from dbhone.workload.driver_program import locate_program
from dbhone.workload.drivers.base import DriverRequest
from dbhone.workload.pausable_client import PausableClient, drive_counting
from dbhone.workload.task import DataSet, Task
from dbhone.workload.workload import Workload

_LOAD_TIMEOUT = 24 * 3600.0
_SLACK = 60.0
_CLIENTS_FOLDER = Path("/")


class ServerClients:
    """Runs the driver, or a user's program, as clients of servers for one session.

    ``data`` is what servers are loaded with, as clients get it. It is looked at here only: a user
    may write his dump anew during the run, or start the server whose data directory was copied.
    """

    def __init__(self, session: Session, workload: Workload, notify: Notify) -> None:
        self.session = session
        self.driver = workload.server_driver
        self._notify = notify
        self.program = locate_program(self.driver, session, notify)
        data = workload.data
        self._materials = self._written_materials(data)
        self.data = data if self._materials is None else data.with_materials(self._materials)
        self._warm_ups = workload.warm_up()
        if process.can_enclose():
            check_readable((*self.driver.load_scripts(data), *self.driver.readable(data)))

    def _written_materials(self, data: DataSet) -> Path | None:
        """Return the folder of the files that clients read, written unless they are kept.

        They may have a user's values: where a sandbox shows them, no one else comes to them.
        """
        materials = self.driver.materials(data)
        if materials is None:
            return None

        def write(folder: Path) -> None:
            self._notify(materials.doing)
            materials.write(folder)

        closed = self.session.home.data / "clients"
        make_folder(closed, shared=not process.can_enclose())
        name = digest_of([self.driver.name, *materials.what])[:16]
        return self.session.fill_once(closed / name, write)

    def load(self, server: Server, content: DataSet) -> None:
        """Load the server with data. Raises DriverError, ServerError."""
        driver = self.driver
        statements = driver.statements_before(content)
        if statements:
            with contextlib.closing(connect(server.endpoint)) as client:
                for statement in statements:
                    client.tell(statement)
        loading = driver.load(self.program, server.endpoint, content)
        self._run_driver(server, loading, "loading", stdin=driver.load_input(content))

    def finish_background_work(self, server: Server, content: DataSet | None = None) -> None:
        """Let the server finish what a load or writes left behind, and return when it has.

        ``content`` is what it holds, if it is not the workload's own. Raises DriverError,
        ServerError.
        """
        driver, content = self.driver, content or self.data
        argv = driver.finish_background_work(self.program, server.endpoint, content)
        self._run_driver(server, argv, "settling")

    def _run_driver(
        self, server: Server, argv: tuple[str, ...], doing: str, *, stdin: Path | None = None
    ) -> str:
        """Run the driver for something that is not measured; return what it printed."""
        command = Command(
            argv=argv,
            cwd=_CLIENTS_FOLDER,
            env={"LC_ALL": "C"},
            isolated=True,
            timeout=_LOAD_TIMEOUT,
            stdin=stdin,
            sandbox=self._client_sandbox(server),
            tenant=self._client_tenant(server),
        )
        finished = process.run(command)
        # If several threads work on a command, sysbench reports a failure only in what it prints.
        error = self.driver.error_in_output(finished.text())
        if finished.ok and error is None:
            return finished.text()
        server.check()
        if error is None:
            last = finished.text().strip().rpartition("\n")[2][:200]
            error = DriverError(f"{self.driver.name} {finished.ending()}: {last}")
        raise DriverError(f"{doing} failed: {error.message}", hint=error.hint)

    def execute(self, server: Server, training: TrainingCommand) -> None:
        """Run a user's program as a client of the server. Raises DriverError, with its log."""
        endpoint, folder = server.endpoint, training.folder
        if process.can_enclose():
            check_readable((folder, *training.files))
        programs = program_folders(training.argv[:1], self.session.home)
        sandbox = Sandbox(readable=(endpoint.socket.parent, folder, *programs))
        log = self.session.workdir("command") / "log"
        command = Command(
            argv=training.argv,
            cwd=folder,
            log=log,
            env={"LC_ALL": "C", **_variables(server)},
            isolated=True,
            timeout=training.timeout,
            sandbox=sandbox,
            tenant=self._client_tenant(server),
        )
        finished = process.run(command)
        server.check()
        if not finished.ok:
            raise DriverError(
                f"the training's command, {training.line}, {finished.ending()}",
                hint="fix it; [training] timeout says how long it may take",
                log=keep_log(log, self.session.home, "training-command"),
            )

    def drive(self, server: Server, task: Task) -> DriverResult:
        """Drive the server. A driver that fails is a result; a dead server raises ServerError.

        Clients count by themselves if they can.
        """
        command = self._command(server, task)
        if self.driver.can_pause(task):
            folder = self.session.workdir("clients")
            try:
                result = drive_counting(command, folder)
            finally:
                remove_tree(folder)
        else:
            result = drive(command)
        if result.error is not None:
            server.check()
        return result

    def client(self, server: Server, task: Task, folder: Path) -> PausableClient:
        """Return a client of the server that can be paused; its files are in ``folder``."""
        return PausableClient(self._command(server, task), folder)

    def _command(self, server: Server, task: Task) -> DriverCommand:
        if self._materials is not None:
            task = task.with_materials(self._materials)
        assert task.run is not None
        return DriverCommand(
            driver=self.driver,
            request=DriverRequest(program=self.program, task=task, database=server.endpoint),
            folder=_CLIENTS_FOLDER,
            version=server.installation.version,
            cpus=server.levers.whole.client_cpus,
            timeout=task.run.timeout + _SLACK,
            sandbox=self._client_sandbox(server),
            tenant=self._client_tenant(server),
        )

    def _client_tenant(self, server: Server) -> Tenant | None:
        """Return for whom clients run: their server's tenant, as what they use is the subject's.

        A client that nothing shuts in had better not share its account with the servers.
        """
        return server.place.tenant if process.can_enclose() else None

    def _client_sandbox(self, server: Server) -> Sandbox:
        """Return what encloses a server's clients: a server may try to take them over."""
        endpoint, driver = server.endpoint, self.driver
        scripts = driver.readable(self.data)
        programs = program_folders((self.program,), self.session.home)
        return Sandbox(readable=(endpoint.socket.parent, *scripts, *programs))

    def warm_up(self, server: Server, seed: BlockSeed) -> None:
        """Fill the server's caches in a block. Raises DriverError if a client fails."""
        for task in self._warm_ups:
            self.drive(server, seed.apply_to(task)).require_report()

    def check(self, server: Server) -> None:
        """Check what clients made of the data. Raises DriverError if it is damaged, ServerError."""
        argv = self.driver.check(self.program, server.endpoint, self.data)
        if argv is not None:
            self.driver.answers(self._run_driver(server, argv, "checking"))

    def verify(self, server: Server) -> str:
        """Return what the driver prints of a server's answers. Raises DriverError, ServerError."""
        argv = self.driver.verify(self.program, server.endpoint, self.data)
        return self._run_driver(server, argv, "verifying")


def _variables(server: Server) -> dict[str, str]:
    """Return the variables that tell a user's program how to reach the server."""
    endpoint = server.endpoint
    return {
        "DBHONE_DBMS": server.installation.dbms,
        "DBHONE_VERSION": server.installation.version,
        "DBHONE_SOCKET": str(endpoint.socket),
        "DBHONE_PORT": str(endpoint.port),
        "DBHONE_USER": endpoint.user,
        "DBHONE_DATABASE": endpoint.database,
        **endpoint.protocol.environment(endpoint),
    }
