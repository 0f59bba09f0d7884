"""How servers of MySQL's kind are built: out of their own tree, with CMake and ninja.

Built is ``mysqld`` with the engines and plugins that are part of it, and what it needs to make and
to run an instance. The options follow from a few rules:

- CMake's type is Release with the variant's flags for the type's own, and MySQL's own compiler
  options stay (since 8.0 the C++ standard, frame pointers, the model of thread-local storage).
  RelWithDebInfo would bring -g and, on Debian, a package's flags.
- Libraries are those that the tree brings, but for TLS: an old tree is built with the versions
  that it was tried with, and nothing is downloaded.
- The linker, NUMA and the like, which CMake would choose by what it finds, are given.
- With gcc a profile is given by MySQL's own option since 8.0.19 (FPROFILE_GENERATE, FPROFILE_USE).
  What of the flags a tree's option does not give, as the first ones did not all, stays among the
  variant's. The option turns REPRODUCIBLE_BUILD on, which has each file compiled by relative
  paths; so all builds of such a tree have it on, or base and candidate would differ in more than
  the profile.
"""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from dbhone.dbms._cmake import (
    COPY,
    COPY_FOLDER,
    Option,
    TypeFlags,
    configure,
    copy_messages,
    expand,
    make,
    options_of,
    written,
)
from dbhone.dbms._compatibility import needs_of
from dbhone.dbms._mysql_libraries import boost_options, ssl_options
from dbhone.dbms._mysql_options import server_only, sets_of
from dbhone.dbms.base import (
    Artifact,
    BuildRequest,
    BuildStep,
    Phase,
    ProfileMode,
    ProfileOptions,
    Recipe,
)
from dbhone.files import text_if_there

_FPROFILE = Path("cmake/fprofile.cmake")
_LAUNCHER = Path("scripts/invoke-with-relative-paths.pl")
_SHARE = Path("share")
_GATHERED = Path("gathered/share")
_LIBRARIES = Path("library_output_directory")
_SERVERS = (Path("runtime_output_directory/mysqld"), Path("sql/mysqld"))
_PARSER = Path("sql/sql_yacc.cc")
_ENDIAN = sys.byteorder[0]
_BOOTSTRAP = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")
"""What makes the server's own tables until 5.6; since 5.7 the server has it in itself."""


def make_recipe(dbms: str, request: BuildRequest, options: Iterable[Option] = ()) -> Recipe:
    """Return the recipe of ``mysqld``; ``options`` are a vendor's own, besides those of all.

    Raises SourceError for a library that the tree wants and that is not there, UsageError and
    UnknownName for invalid options.
    """
    new = _is_new(request.tree)
    configured = _configure(dbms, request, tuple(options))
    share = (BuildStep(phase=Phase.TOOLS, argv=argv) for argv in _share_commands(request, new=new))
    artifacts = [
        Artifact(name="server", made=_server(request.tree), kept=Path("bin/mysqld")),
        Artifact(name="share", made=_GATHERED, kept=_SHARE, tree=True),
    ]
    if new:
        artifacts.append(Artifact(name="libraries", made=_LIBRARIES, kept=Path("lib"), tree=True))
    return Recipe(
        steps=(
            BuildStep(phase=Phase.CONFIGURE, argv=configured),
            *_writable_parsers(request.tree),
            BuildStep(phase=Phase.COMPILE, argv=make(request, "mysqld", "GenError")),
            *share,
        ),
        artifacts=tuple(artifacts),
        primary="server",
        added_flags=_added(dbms, request),
    )


def _writable_parsers(tree: Path) -> tuple[BuildStep, ...]:
    """Return what lets bison make the SQL parser anew where the tree brings it, as archives do.

    CMake copies it with its mode, and a kept tree is read-only.
    """
    if not (tree / _PARSER).is_file():
        return ()
    return (BuildStep(phase=Phase.CONFIGURE, argv=("chmod", "--recursive", "u+w", "sql")),)


def messages_folder(tree: Path) -> Path:
    """Return where the tree has the character sets, and its build the messages of all languages."""
    return Path("share") if _is_new(tree) else Path("sql/share")


def _is_new(tree: Path) -> bool:
    """Return whether the tree is of 8.0 or newer."""
    return (tree / "share" / "messages_to_clients.txt").is_file()


def _server(tree: Path) -> Path:
    """Return where the tree's CMake puts the server in the build folder."""
    text = text_if_there(tree / "cmake" / "mysql_add_executable.cmake")
    together, beside = _SERVERS
    return together if together.parent.name in text else beside


def _configure(dbms: str, request: BuildRequest, own: tuple[Option, ...]) -> tuple[str, ...]:
    guided, rest = _guidance(request)
    options = (
        *written(options_of((*server_only(request.tree), *own), request.version)),
        *ssl_options(request),
        *boost_options(request),
        *(("-DREPRODUCIBLE_BUILD=ON",) if takes_profiles(request.tree) else ()),
        *guided,
        *expand(request.options, sets_of(request.tree), request.version),
    )
    return configure(request, _flags(dbms, request, rest), options)


def _flags(dbms: str, request: BuildRequest, told: frozenset[str]) -> TypeFlags:
    """Return the flags of the type: the variant's, less those told by an option, and the needs."""
    c, cxx = needs_of(dbms, request)
    compile_flags = tuple(flag for flag in request.compile_flags if flag not in told)
    standard = _standard(request.tree) if request.version.split(".")[0] != "5" else ()
    return TypeFlags(
        c=(*compile_flags, *c),
        cxx=(*compile_flags, *standard, *cxx),
        link=tuple(flag for flag in request.link_flags if flag not in told),
        program_link=request.primary_link_flags,
    )


def _added(dbms: str, request: BuildRequest) -> tuple[str, ...]:
    """Return the flags that the tree needs besides the variant's, each once."""
    c, cxx = needs_of(dbms, request)
    return tuple(dict.fromkeys((*c, *cxx)))


def _standard(tree: Path) -> tuple[str, ...]:
    """Return the C++ standard that the tree's own compiler options name.

    In the first versions of 8.0 they name it for another type of build only.
    """
    script = tree / "cmake" / "build_configurations" / "compiler_options.cmake"
    match = re.search(r"-std=(?:c|gnu)\+\+\w+", text_if_there(script))
    return (match[0],) if match else ()


def takes_profiles(tree: Path) -> bool:
    """Return whether the tree's own option for profiles can be used.

    It has the compiler called by a script of the tree's, whose execute bit some copies lost.
    """
    script = tree / _LAUNCHER
    return (tree / _FPROFILE).is_file() and (
        not script.is_file() or bool(script.stat().st_mode & stat.S_IXUSR)
    )


def _guidance(request: BuildRequest) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the tree's own options for a profile, and the flags that they give."""
    guidance = request.guidance
    if guidance is None or not takes_profiles(request.tree):
        return (), frozenset()
    option = "FPROFILE_GENERATE" if guidance.pass_ is ProfileMode.GENERATE else "FPROFILE_USE"
    options_of_profile = _profile_flags(guidance, text_if_there(request.tree / _FPROFILE))
    return (f"-D{option}=ON", f"-DFPROFILE_DIR={guidance.place}"), options_of_profile


def _profile_flags(guidance: ProfileOptions, script: str) -> frozenset[str]:
    """Return those of the flags that the tree's script has, whatever place it gives them."""
    code = "\n".join(line.split("#")[0] for line in script.splitlines())
    place = f"={guidance.place}"
    return frozenset(
        flag
        for flag in guidance.flags
        if re.search(rf"{re.escape(flag.removesuffix(place))}(?![\w-])", code)
    )


def _share_commands(request: BuildRequest, *, new: bool) -> tuple[tuple[str, ...], ...]:
    """Return the commands that copy the files that the server reads below ``share``."""
    tree, share = request.tree, messages_folder(request.tree)
    commands = [*copy_messages(str(share), tree / share, _GATHERED)]
    scripts = [tree / "scripts" / name for name in _BOOTSTRAP]
    if request.version.startswith("5.6"):
        commands.append((*COPY, *(str(script) for script in scripts), str(_GATHERED)))
    if new:
        # Versions that are linked with no library of their own do not make it.
        commands.append(("cmake", "-E", "make_directory", str(_LIBRARIES)))
        # Without what ICU knows of characters regular expressions fail.
        commands += [
            (*COPY_FOLDER, str(data), f"{_LIBRARIES}/private/{data.name}")
            for data in sorted((tree / "extra" / "icu").glob(f"icudt*{_ENDIAN}"))
        ]
    return tuple(commands)
