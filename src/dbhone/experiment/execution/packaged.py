"""Makes a run's winner once more by a distribution's own rules, and measures a package again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbhone.compilation.manifest import Build
from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import Training
from dbhone.experiment.declaration.templates import file_text
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.execution.verifying import build_like, usual_base, verify_build
from dbhone.verification.outcome import Grade
from dbhone.verification.outcome_store import OutcomeStore
from dbhone.verification.verify import Verification
from dbhone.workload.workload import Workload


def packaged_build(
    winner: Build, packaging: str, training: Training | None, grade: Grade, service: BuildService
) -> Build:
    """Return the build of a winner's source and variant by the distribution's rules, verified.

    It is trained again, on the packages' own configuration, and verified at the ``grade`` that the
    winner passed, in comparison with what the rules make without a variant. Raises UsageError if it
    must be trained and nothing says on what.
    """
    if winner.manifest.inputs.variant.profile_guided and training is None:
        raise UsageError(
            f"the variant {winner.manifest.variant} must be trained again for these packages, and a"
            " build alone does not say on what",
            hint="name the run that measured it",
        )
    changes = {"packaging": packaging, "copy_number": 0, "layouts": 0}
    build = build_like(winner, changes, service, training)
    base = usual_base(build, service)
    outcomes = OutcomeStore(service.session.home, build).outcomes()
    if (grade, base.digest) not in {(each.grade, each.base) for each in outcomes}:
        usual = Workload.usual(build.manifest.dbms)
        verification = Verification(candidate=build, base=base, grade=grade)
        verify_build(verification, service, (usual,))
    return build


def repeated_text(declared: Mapping[str, Any], package: str) -> str:
    """Return the experiment file that repeats the measurement of a package."""
    tables = {key: value for key, value in declared.items() if isinstance(value, Mapping)}
    head = {key: value for key, value in declared.items() if key not in tables}
    title = f"What {package} says of itself, measured here"
    return file_text("Taken out of a package.", {"title": title, **head}, tables)
