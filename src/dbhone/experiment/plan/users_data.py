"""Whether a user's folders, dumps and data can be taken here, told before anything is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.target import server_pool
from dbhone.requirements import SANDBOX, Missing
from dbhone.source.kinds.base import folder_of
from dbhone.workload.dumps.base import Dumps, load_dumps
from dbhone.workload.dumps.postgresql import EXTENSIONS_HINT

_DUMP = "dump"


def check_inputs(experiment: Experiment) -> None:
    """Look at the folders and dumps that an experiment names, before anything is copied or built.

    Raises UsageError for a folder that does not exist and for a dump that a build cannot take,
    SourceError for a folder that holds another DBMS or cannot be built as it is.
    """
    for subject in experiment.subjects:
        for inputs in dict.fromkeys((subject.inputs, subject.inputs.trained)):
            folder = folder_of(inputs.source)
            if folder is not None and not inputs.variant.ready_made:
                dbms = load_dbms(inputs.dbms)
                dbms.version(folder)
                dbms.check_source(folder)
    check_users_data(experiment)


def check_users_data(experiment: Experiment) -> None:
    """Look at the dumps of an experiment.

    Raises UsageError for a file that hone cannot restore, and for a dump whose extensions a build
    will not have; what a ready-made server has is seen only when it runs.
    """
    for subject in experiment.subjects:
        for key, path in _data_paths(experiment, subject):
            if key == _DUMP:
                dumps = load_dumps(load_dbms(subject.inputs.dbms).interface)
                dumps.check(path)
                _check_extensions(subject, path, dumps)


def check_enclosed(experiment: Experiment, lacking: Missing | None = None) -> None:
    """Raise ToolError for data of the user's own where servers could reach others.

    Whether they could is not known while the sandbox's program is among what is ``lacking``.
    """
    if lacking is not None and SANDBOX in lacking.requirements:
        return
    for workload in experiment.workloads:
        server_pool.check_enclosed(workload)


def _check_extensions(subject: SubjectDeclaration, dump: Path, dumps: Dumps) -> None:
    inputs = subject.inputs
    present = load_dbms(inputs.dbms).extensions(inputs.packaging)
    if present is None or inputs.variant.ready_made:
        return
    absent = [name for name in dumps.extensions(dump) if name not in present]
    if absent:
        word = "extension" if len(absent) == 1 else "extensions"
        raise UsageError(
            f"{dump} needs the {word} {', '.join(absent)}, which the build of"
            f" {subject.name} will not have",
            hint=EXTENSIONS_HINT,
        )


def _data_paths(experiment: Experiment, subject: SubjectDeclaration) -> Iterator[tuple[str, Path]]:
    """Yield the dumps and data directories that a subject is measured on and trained on."""
    yield from experiment.workload.scale.paths.items()
    if subject.training is not None:
        yield from subject.training.workload.scale.paths.items()
