"""What a search is about besides the words that a user says: the source, the files, the machine.

The same words may mean another source or workload tomorrow, or the machine may have another kernel:
that is another search.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbhone.experiment.declaration.model import Experiment
from dbhone.files import digest_of
from dbhone.measurement.machine import read_machine
from dbhone.source.tree import SourceTree
from dbhone.workload.captured_suite import is_workload_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The digests of the source tree, of the user's own files, and of what the machine is.

    ``files`` is empty where there are none. ``machine`` is the fingerprint that each run keeps.
    """

    source: str
    machine: str
    files: str = ""


def inputs_of(experiment: Experiment, tree: SourceTree) -> Inputs:
    """Return what a search is about whose first run is this experiment.

    A suite of the user's is known by its texts. A captured workload and its data may be large: they
    are not read, but known by place, size and time of change, as data is that was loaded before.
    """
    files: list[object] = []
    if experiment.files:
        files = [dict(experiment.files)]
    elif is_workload_file(experiment.workload.name):
        name, data = experiment.workload.name, experiment.workload.data
        status = Path(name).stat()
        files = [name, status.st_size, status.st_mtime_ns, list(data.key)]
    return Inputs(
        source=tree.digest,
        machine=read_machine().fingerprint,
        files=digest_of(files) if files else "",
    )
