"""The JSON schema of experiment files, for editors: generated from what hone itself accepts."""

from __future__ import annotations

from typing import Any

from dbhone.dbms.base import system_names
from dbhone.experiment.declaration.schema import ExperimentFile
from dbhone.workload import suite as suites

_DRAFT = "http://json-schema.org/draft-07/schema#"
"""What editors' TOML plug-ins read."""
_OF_USER = {"pattern": "[./]"}
"""A suite that is a user's file: its path has what no suite's name has."""


def experiment_schema() -> dict[str, Any]:
    """Return the JSON schema, with the names of DBMSs and suites that this hone knows."""
    schema: dict[str, Any] = ExperimentFile.model_json_schema()
    definitions = schema["$defs"]
    definitions["SubjectSection"]["properties"]["dbms"] |= {"enum": ["", *system_names()]}
    known = {"enum": list(suites.names())}
    definitions["WorkloadSection"]["properties"]["suite"] |= {"anyOf": [known, _OF_USER]}
    return {"$schema": _DRAFT, "title": "dbhone experiment", **_for_readers(schema)}


def _for_readers(part: Any) -> Any:
    """Return a part of the schema without what only tells of our classes.

    Left out are titles, which repeat the keys, and defaults that are kept as numbers and written
    as text.
    """
    if isinstance(part, list):
        return [_for_readers(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {name: value for name, value in part.items() if not _is_noise(name, value, part)}
    cleaned = {name: _for_readers(value) for name, value in kept.items()}
    if isinstance(cleaned.get("description"), str):
        cleaned["description"] = " ".join(cleaned["description"].replace("``", "`").split())
    return cleaned


def _is_noise(name: str, value: object, part: dict[str, Any]) -> bool:
    if name == "title":
        return isinstance(value, str)
    return name == "default" and part.get("type") == "string" and not isinstance(value, str)
