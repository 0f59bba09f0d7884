"""``hone builds``: the builds that there are."""

from __future__ import annotations

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.listing import listing
from dbhone.cli.options import json_option
from dbhone.compilation.manifest import Build, all_builds
from dbhone.units import duration, size


@hone_command("builds", Task.MANAGE, "hone builds", "hone builds --json")
@json_option
@pass_context
def command(context: Context, as_json: bool) -> None:
    """List the builds, oldest first. `hone clean` removes those that nothing needs any more."""
    builds = all_builds(context.home)
    if as_json:
        print_json(context, [_object(build) for build in builds])
        return
    if not builds:
        context.err.print("There are no builds yet: 'hone try' or 'hone build' makes some.")
        return
    figures = ("took", "binary")
    table = listing(
        *("digest", "DBMS", "variant", "compiler", "built", *figures),
        right=figures,
        whole=("digest", "built"),
    )
    for build in builds:
        manifest = build.manifest
        note = f" ({manifest.note})" if manifest.note else ""
        copy = f" (copy {manifest.inputs.copy_number})" if manifest.inputs.copy_number else ""
        table.add_row(
            manifest.digest[:12],
            f"{manifest.dbms} {manifest.version}",
            manifest.inputs.words + note + copy,
            build.shown_compiler,
            f"{manifest.built_at.astimezone():%Y-%m-%d %H:%M}",
            duration(manifest.seconds),
            size(build.binary_bytes),
        )
    context.out.print(table)


def _object(build: Build) -> dict[str, object]:
    manifest = build.manifest
    return {
        "digest": manifest.digest,
        "folder": str(build.folder),
        "dbms": manifest.dbms,
        "version": manifest.version,
        "variant": manifest.variant,
        "inputs": manifest.inputs.chosen(),
        "pass": manifest.pass_.value,
        "compiler": build.shown_compiler,
        "source": manifest.source,
        "built": manifest.built_at.isoformat(),
        "seconds": manifest.seconds,
        "binary_bytes": build.binary_bytes,
    }


PLUGIN = command
