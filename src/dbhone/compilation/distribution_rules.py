"""Builds by a distribution's own packaging rules: what they need of the machine and the source."""

from __future__ import annotations

from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.compilation.variant import Variant
from dbhone.dbms.base import Dbms
from dbhone.errors import SourceError, ToolError, UsageError

SYSTEM_FILES = tuple(map(Path, ("/var/lib/dpkg", "/etc/dpkg", "/etc/xml", "/etc/sgml")))
"""What the rules look at: which packages are installed, whose system it is, how manuals are set."""
_RULES = "debian/rules"
_UNMET = "Unmet build dependencies: "
_TIMEOUT = 60.0
_POSSIBLE = (
    "take a build by gcc without bolt; 'hone tune' finds the best of these with"
    " --compiler gcc --variant lto+pgo"
)


def check_packaging(inputs: BuildInputs, dbms: Dbms, tree: Path, compiler: Compiler) -> None:
    """Raise unless the rules in a tree can make these packages here.

    Raises UsageError for what hone has no recipe for, SourceError for a tree without rules,
    ToolError that names the packages which are missing.
    """
    check_rules_known(dbms, inputs.packaging)
    check_allowed(inputs.variant, compiler)
    if not has_rules(tree):
        raise SourceError(
            f"the source has no {_RULES}, by which a distribution makes packages",
            hint="take a source package of your distribution, such as apt:postgresql-15",
        )
    _check_dependencies(dbms, tree)


def check_rules_known(dbms: Dbms, packaging: str | None) -> None:
    """Raise UsageError for a DBMS for which hone has no recipe that makes these packages."""
    if packaging not in dbms.packagings:
        raise UsageError(f"hone cannot build {dbms.title} by a distribution's rules yet")


def check_allowed(variant: Variant, compiler: Compiler) -> None:
    """Raise UsageError unless a distribution's rules can make a variant by a compiler."""
    if variant.post_link:
        raise UsageError(
            f"the variant {variant.name} changes what was linked, which a distribution's"
            " rules do not allow",
            hint=_POSSIBLE,
        )
    if compiler.family is not CompilerFamily.GCC:
        raise UsageError(
            f"a distribution's flags are gcc's, and {compiler.label} does not take them all",
            hint=_POSSIBLE,
        )


def allows(variant: Variant, compiler: Compiler) -> bool:
    """Return whether a distribution's rules can make a variant by a compiler."""
    try:
        check_allowed(variant, compiler)
    except UsageError:
        return False
    return True


def has_rules(tree: Path) -> bool:
    """Return whether a source is a distribution's source package, which packages are made by."""
    return (tree / _RULES).is_file()


def _check_dependencies(dbms: Dbms, tree: Path) -> None:
    # Those for tests, too: configure looks for some, although no test is run.
    command = Command(
        argv=("dpkg-checkbuilddeps",), cwd=tree, env={"LC_ALL": "C"}, timeout=_TIMEOUT
    )
    finished = process.run(command)
    if not finished.ok:
        told = finished.text().strip()
        lacking = told.partition(_UNMET)[2].split("\n")[0] or told or finished.ending()
        raise ToolError(
            f"the packages of {dbms.title} cannot be built here: {lacking} is missing",
            hint=f"install it: apt-get build-dep {tree}",
        )
