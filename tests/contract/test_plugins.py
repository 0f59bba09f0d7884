"""What every plugin promises, tried on every plugin that is found."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import click
import pytest

from dbhone import registry
from dbhone.capture.capture import CaptureOptions, capture
from dbhone.capture.logs.base import DRAWER as LOGS
from dbhone.capture.logs.base import LogFormat
from dbhone.capture.servers.base import DRAWER as SERVERS
from dbhone.capture.servers.base import parse_address
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import DRAWER as TRANSFORMS
from dbhone.compilation.transforms.base import CompilerFamily, Pass, Transform
from dbhone.compilation.variant import parse_variant
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base import DRAWER as DBMSES
from dbhone.dbms.base import Dbms
from dbhone.dbms.base_protocol import Endpoint
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import DriverError, SourceError, UsageError
from dbhone.instance.levers.base import DRAWER as LEVERS
from dbhone.instance.levers.base import HostCapabilities, Lever, LeverContext, ObservedState
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import DRAWER as DRIVERS
from dbhone.workload.drivers.base import Driver, DriverRequest, ServerDriver
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload

COMMANDS = "dbhone.cli.commands"


@pytest.mark.parametrize("name", registry.names(TRANSFORMS))
class TestTransform:
    def test_its_name_is_its_files(self, name: str) -> None:
        transform = registry.load(TRANSFORMS, name, Transform, what="transform")
        assert transform.name == name
        assert transform.summary

    def test_it_is_a_variant_by_itself(self, name: str) -> None:
        assert name in parse_variant(name).name.split("+")

    @pytest.mark.parametrize("family", list(CompilerFamily))
    def test_its_flags_are_words_that_need_no_shell(
        self, name: str, family: CompilerFamily
    ) -> None:
        compiler = Compiler(family=family, path=Path("/cc"), version="99.0.0", identity="cc")
        variant = parse_variant(name)
        for pass_ in variant.passes():
            flags = variant.flags(compiler, pass_)
            assert all(flag.startswith("-") for flag in (*flags.compile, *flags.link))
            assert not any(set(flag) & set(" '\"$;|&") for flag in flags.compile)

    def test_a_profile_guided_one_differs_between_its_passes(self, name: str) -> None:
        variant = parse_variant(name)
        compiler = Compiler(
            family=CompilerFamily.GCC, path=Path("/cc"), version="99.0.0", identity="cc"
        )
        if variant.profile_guided:
            instrumented = variant.flags(compiler, Pass.INSTRUMENT)
            assert instrumented != variant.flags(compiler, Pass.USE)


@pytest.mark.parametrize("name", registry.names(DBMSES))
class TestDbms:
    def test_its_name_is_its_files(self, name: str) -> None:
        dbms = registry.load(DBMSES, name, Dbms, what="DBMS")
        assert dbms.name == name
        assert dbms.title
        assert dbms.build_seconds > 0
        assert ":" in dbms.reference

    def test_it_refuses_a_tree_of_something_else(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "README").write_text("nothing")
        with pytest.raises(SourceError):
            registry.load(DBMSES, name, Dbms, what="DBMS").version(tmp_path)


@pytest.mark.parametrize("name", registry.names(DRIVERS))
class TestDriver:
    def test_its_name_is_its_files(self, name: str) -> None:
        assert registry.load(DRIVERS, name, Driver, what="driver").name == name

    def test_it_refuses_silence(self, name: str, tmp_path: Path) -> None:
        driver = registry.load(DRIVERS, name, Driver, what="driver")
        with pytest.raises(DriverError):
            driver.read(request_for(driver, tmp_path), ())

    def test_it_starts_the_program_that_it_was_given(self, name: str, tmp_path: Path) -> None:
        driver = registry.load(DRIVERS, name, Driver, what="driver")
        assert "/p" in argv_of(driver, tmp_path)

    def test_its_command_line_has_no_password(self, name: str, tmp_path: Path) -> None:
        driver = registry.load(DRIVERS, name, Driver, what="driver")
        assert not any("password" in word for word in argv_of(driver, tmp_path))


def argv_of(driver: Driver, folder: Path) -> tuple[str, ...]:
    request = request_for(driver, folder)
    if isinstance(driver, ServerDriver) and driver.can_pause(request.task):
        return driver.counting_argv(request, folder / "counts")
    return driver.argv(request)


def request_for(driver: Driver, folder: Path) -> DriverRequest:
    """Return the first task of a suite that the driver runs, at its smallest size.

    A driver without a suite that ships replays a captured workload, which is made in the folder.
    """
    captured = folder / "a.workload"
    capture((CAPTURED,), captured, CaptureOptions())
    (folder / "dump").write_text("-- what pg_dump made")
    fitting = (each for each in suites.names() if suites.load(each).driver == driver.name)
    name = next(fitting, str(captured))
    given = {"dump": str(folder / "dump")} if "dump" in driver.data_keys else {}
    scale = Scale(size=suites.load(name).sizes()[0], data=given)
    workload = Workload(name=name, scale=scale)
    assert workload.driver is driver
    task = workload.tasks(workload.chosen[:1])[0]
    if given:
        task = task.with_materials(folder)
    server = Endpoint(protocol=POSTGRESQL, socket=Path("/s/.s"), user="u", database="d", port=1)
    where = server if isinstance(driver, ServerDriver) else Path("/d/x")
    return DriverRequest(program=Path("/p"), task=task, database=where)


@pytest.mark.parametrize("name", registry.names(LOGS))
class TestLogFormat:
    def test_an_empty_log_is_none_of_it(self, name: str) -> None:
        found = registry.load(LOGS, name, LogFormat, what="log format")
        assert found.title
        assert found.protocol in {"mysql", "postgresql"}
        assert found.score("\n") == 0


@pytest.mark.parametrize("name", registry.names(SERVERS))
class TestLoggedServer:
    def test_a_password_in_its_address_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match="password"):
            parse_address(f"{name}://me:secret@host/shop")
        address = parse_address(f"{name}://me@host/shop?socket=/run/s")
        assert (address.user, address.host, address.database) == ("me", "host", "shop")
        assert parse_address(address.text) == address


@pytest.mark.parametrize("name", registry.names(LEVERS))
class TestLever:
    def test_its_name_is_its_files_and_it_tells_what_it_takes(self, name: str) -> None:
        lever = registry.load(LEVERS, name, Lever, what="lever")
        assert lever.name == name
        assert lever.summary
        assert "=" not in name
        with pytest.raises(UsageError) as caught:
            lever.canonical("what nobody means")
        assert caught.value.hint

    def test_a_poor_machine_refuses_it_with_the_reason(self, name: str) -> None:
        lever = registry.load(LEVERS, name, Lever, what="lever")
        refusal = lever.refusal(need_of(lever), POOR)
        assert refusal is not None
        assert refusal.reason

    def test_it_tells_how_a_service_has_it(self, name: str) -> None:
        lever = registry.load(LEVERS, name, Lever, what="lever")
        context = need_of(lever)
        assert context.value in lever.in_service(context)
        assert lever.in_service(context) == lever.in_service(replace(context, cache_bytes=0))

    def test_a_server_that_shows_nothing_was_not_changed_by_it(self, name: str) -> None:
        lever = registry.load(LEVERS, name, Lever, what="lever")
        pull = lever.apply(need_of(lever), RICH)
        nothing = ObservedState(
            files=frozenset(), cpus=frozenset(), huge_bytes=0, numa_policies=frozenset()
        )
        assert lever.refusal(need_of(lever), RICH) is None
        assert lever.took_effect(pull, nothing) is (pull.client_cpus is not None)


class Everything(dict[str, Path]):
    """A machine that has every library and every program."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Path:
        return Path("/lib") / name


CAPTURED = Path(__file__).parents[1] / "golden" / "capture" / "postgresql-15-csvlog.csv"
POOR = HostCapabilities(
    cpus=frozenset({7}),
    numa_nodes=1,
    libraries={},
    programs={},
    huge_page_bytes=0,
    huge_pages=0,
    huge_pages_free=0,
)
RICH = HostCapabilities(
    cpus=frozenset(range(4)),
    numa_nodes=2,
    libraries=Everything(),
    programs=Everything(),
    huge_page_bytes=2**21,
    huge_pages=2**10,
    huge_pages_free=2**10,
)


def need_of(lever: Lever) -> LeverContext:
    """Return a context with a value that the lever takes."""
    known = registry.load(DBMSES, "mariadb", ServerDbms, what="DBMS")
    for value in ("", "0", "interleave"):
        with contextlib.suppress(UsageError):
            return LeverContext(
                value=lever.canonical(value), dbms=known, cache_bytes=2**20, servers=1
            )
    raise AssertionError(f"{lever.name} takes none of the values that this test knows")


@pytest.mark.parametrize("name", registry.names(COMMANDS))
def test_a_command_has_its_files_name_and_explains_itself(name: str) -> None:
    command = registry.load(COMMANDS, name, click.Command, what="command")
    assert command.name == name
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.name in {"suite"}, parameter.name
