"""Whether builds have the extensions that dumps create, told before anything is compiled."""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base import load_dbms
from dbhone.errors import UsageError
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.workload.dumps import EXTENSIONS_HINT, extensions_of


def check_extensions(experiment: Experiment) -> None:
    """Raise UsageError that names the extensions of a dump which a subject's build will not have.

    What a ready-made server has is seen only when it runs.
    """
    for subject in experiment.subjects:
        inputs = subject.inputs
        present = load_dbms(inputs.dbms).extensions(inputs.packaging)
        if present is None or inputs.variant.ready_made:
            continue
        for dump in _dumps(experiment, subject):
            absent = [name for name in extensions_of(dump) if name not in present]
            if absent:
                word = "extension" if len(absent) == 1 else "extensions"
                raise UsageError(
                    f"{dump} needs the {word} {', '.join(absent)}, which the build of"
                    f" {subject.name} will not have",
                    hint=EXTENSIONS_HINT,
                )


def _dumps(experiment: Experiment, subject: SubjectDeclaration) -> list[Path]:
    """Return the dumps that a subject is measured on and trained on."""
    scales = [experiment.scale, *([subject.training.scale] if subject.training else [])]
    return [Path(str(scale.data["dump"])) for scale in scales if "dump" in scale.data]
