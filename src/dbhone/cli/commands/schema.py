"""``hone schema``: the JSON schema of experiment files."""

from __future__ import annotations

import json
from pathlib import Path

from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json, write_output
from dbhone.cli.options import force_option, output_option
from dbhone.experiment.declaration.json_schema import experiment_schema


@hone_command("schema", Task.MANAGE, "hone schema", "hone schema --output hone.schema.json")
@output_option("File to write.")
@force_option
@pass_context
def command(context: Context, output: Path | None, force: bool) -> None:
    """Print the JSON schema of experiment files, with which editors complete and check them.

    An editor with Taplo (Even Better TOML) uses it for a file that begins with the line
    `#:schema ./hone.schema.json`, as those of `hone init` do.
    """
    schema = experiment_schema()
    if output is None:
        print_json(context, schema)
        return
    write_output(output, json.dumps(schema, indent=2) + "\n", force=force)
    context.tell(f"wrote {output}: begin a file beside it with '#:schema ./{output.name}'")


PLUGIN = command
