"""PostgreSQL built with meson and ninja: version 16 and newer.

As with the makefiles, only the server itself is compiled with the variant's flags; what it
needs besides is made in a folder of its own, always alike. Meson's own installation would
build all that there is, so the files that an instance needs are gathered one by one.
"""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base import BuildRequest, BuildStep, Phase

_OPTIONS = (
    "--buildtype=plain",  # no flags but the variant's
    "-Dauto_features=disabled",
    "-Dssl=none",
    "-Dlibdir=lib",
    "-Drpath=false",  # its own leads to the prefix, which does not exist
)
_TOOLS, _SERVER = Path("tools"), Path("server")
_RUN_PATH = "-Wl,-rpath,$ORIGIN/../lib"
_COMPANIONS = (
    "src/bin/initdb/initdb",
    "src/pl/plpgsql/src/plpgsql.so",
    "src/backend/snowball/dict_snowball.so",
    "src/backend/replication/libpqwalreceiver/libpqwalreceiver.so",
    "src/backend/replication/pgoutput/pgoutput.so",
    "src/backend/snowball/snowball_create.sql",
    "src/timezone/timezone",
    "src/include/catalog/postgres.bki",
)
_CONVERSIONS = Path("src/backend/utils/mb/conversion_procs")
_MADE_SHARE = (
    "src/backend/snowball/snowball_create.sql",
    "src/include/catalog/postgres.bki",
    "src/include/catalog/system_constraints.sql",
)
_SHARE = (
    "src/backend/catalog/information_schema.sql",
    "src/backend/catalog/sql_features.txt",
    "src/backend/catalog/system_functions.sql",
    "src/backend/catalog/system_views.sql",
    "src/backend/libpq/pg_hba.conf.sample",
    "src/backend/libpq/pg_ident.conf.sample",
    "src/backend/utils/misc/postgresql.conf.sample",
)
_EXTENSION = ("src/pl/plpgsql/src/plpgsql.control", "src/pl/plpgsql/src/plpgsql--1.0.sql")


def has_meson(tree: Path) -> bool:
    """Return whether this version can be built with meson."""
    return (tree / "meson.build").is_file()


def meson_steps(request: BuildRequest, prefix: str, stage: Path) -> tuple[BuildStep, ...]:
    """Return the steps that install the server and what it needs for ``prefix`` in ``stage``.

    ``stage`` is relative to the build folder; the files come to lie in ``prefix`` below it.
    """
    staged = stage / prefix.removeprefix("/")
    companions = (*_COMPANIONS, *_conversions(request.tree))
    ninja = ("ninja", f"-j{request.jobs}", "-C")
    tools = ((*ninja, str(_TOOLS), *companions), *_gather(request.tree, companions, staged))
    install = _install(staged / "bin", _SERVER / "src" / "backend" / "postgres")
    target = "all" if request.all_targets else "src/backend/postgres"
    return (
        _setup(
            _TOOLS,
            request.tree,
            prefix,
            compiler=request.host_compiler,
            archiver=Path("ar"),
            compile_flags=("-O2",),
            link_flags=(_RUN_PATH,),
        ),
        _setup(
            _SERVER,
            request.tree,
            prefix,
            compiler=request.compiler,
            archiver=request.archiver,
            compile_flags=request.compile_flags,
            link_flags=(*request.link_flags, *request.primary_link_flags),
        ),
        *(BuildStep(phase=Phase.TOOLS, argv=argv) for argv in tools),
        BuildStep(phase=Phase.COMPILE, argv=(*ninja, str(_SERVER), target)),
        BuildStep(phase=Phase.TOOLS, argv=install),
    )


def _setup(
    folder: Path,
    tree: Path,
    prefix: str,
    *,
    compiler: Path,
    archiver: Path,
    compile_flags: tuple[str, ...],
    link_flags: tuple[str, ...],
) -> BuildStep:
    argv = (
        *("env", f"CC={compiler}", f"AR={archiver}"),
        *("meson", "setup", *_OPTIONS, f"--prefix={prefix}"),
        f"-Dc_args={_listed(compile_flags)}",
        f"-Dc_link_args={_listed(link_flags)}",
        *(str(folder), str(tree)),
    )
    return BuildStep(phase=Phase.CONFIGURE, argv=argv)


def _listed(flags: tuple[str, ...]) -> str:
    """Return flags as meson reads a list: commas and spaces inside a flag stay there."""
    return repr(list(flags))


def _conversions(tree: Path) -> list[str]:
    """Return what converts between encodings: a library for each folder there."""
    names = sorted(path.name for path in (tree / _CONVERSIONS).iterdir() if path.is_dir())
    return [str(_CONVERSIONS / f"{name}.so") for name in names]


def _gather(tree: Path, companions: tuple[str, ...], staged: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands that put what the server needs where an installation has it."""
    lib, share = staged / "lib", staged / "share"
    libraries = [_TOOLS / companion for companion in companions if companion.endswith(".so")]
    copy_all = ("cp", "-r", "--no-preserve=mode", "-T")
    return (
        _install(staged / "bin", _TOOLS / "src" / "bin" / "initdb" / "initdb"),
        _install(lib, *libraries),
        (
            *("find", str(_TOOLS / "src" / "interfaces" / "libpq"), "-maxdepth", "1"),
            *("-name", "libpq.so.*", "!", "-type", "d"),
            *("-exec", "cp", "-P", "-t", str(lib), "{}", "+"),
        ),
        _install(share, *(_TOOLS / name for name in _MADE_SHARE), mode="644"),
        _install(share, *(tree / name for name in _SHARE), mode="644"),
        _install(share / "extension", *(tree / name for name in _EXTENSION), mode="644"),
        (*copy_all, str(_TOOLS / "src" / "timezone" / "timezone"), str(share / "timezone")),
        (*copy_all, str(tree / "src" / "timezone" / "tznames"), str(share / "timezonesets")),
        (
            *copy_all,
            str(tree / "src" / "backend" / "tsearch" / "dicts"),
            str(share / "tsearch_data"),
        ),
        (
            *("cp", "-r", "--no-preserve=mode"),
            f"{tree / 'src' / 'backend' / 'snowball' / 'stopwords'}/.",
            str(share / "tsearch_data"),
        ),
    )


def _install(folder: Path, *files: Path, mode: str = "755") -> tuple[str, ...]:
    return ("install", "-D", "-m", mode, "-t", str(folder), *(str(file) for file in files))
