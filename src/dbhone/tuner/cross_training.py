"""An experiment that trains on one workload and tests on another, for all pairs."""

from __future__ import annotations

from dbhone.dbms.base import Dbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.subject_names import fitting_name
from dbhone.experiment.declaration.subjects import CONTROL
from dbhone.experiment.declaration.templates import (
    DesignOptions,
    WorkloadOptions,
    design_table,
    file_text,
    workload_table,
)
from dbhone.tuner.space import BASE
from dbhone.workload import suite as suites

_EARLIER = "earlier"
_MOST = 12
"""Sets. Each takes a build, and a share of every block."""


def cross_training_text(
    dbms: Dbms,
    source: str,
    variant: str,
    workload: WorkloadOptions,
    design: DesignOptions,
    *,
    mixes: tuple[tuple[str, ...], ...] = (),
    earlier: str | None = None,
    sizes: tuple[str, ...] = (),
) -> str:
    """Return the experiment file: the plain build is the base, each training a subject.

    A build of the profile-guided ``variant`` is trained on each of the workload's sets alone, one
    on all, and one on each of the ``mixes``. The workload names its sets; none are all of the
    suite. With ``earlier``, another source, one more build takes the profile of that, trained on
    all; and one more is trained on all at each of the ``sizes`` of training. Raises UsageError or
    UnknownName for invalid sets.
    """
    sets = _sets(workload, dbms)
    distinct = {frozenset(chosen): chosen for chosen in (*((one,) for one in sets), *mixes, sets)}
    called = {_name(chosen, sets): list(chosen) for chosen in distinct.values()}
    subjects = {
        name: {"like": BASE, "variant": variant, "train": chosen} for name, chosen in called.items()
    }
    on_all = _name(sets, sets)
    if workload.size in sizes:
        raise UsageError(
            f"all builds are trained at the size {workload.size}", hint="name another size"
        )
    subjects |= {
        fitting_name(on_all, f"-{size}"): {"like": on_all, "train_size": size} for size in sizes
    }
    sources = {"source": source}
    if earlier is not None:
        sources[_EARLIER] = earlier
        subjects[f"{on_all}-{_EARLIER}"] = {"like": on_all, "profile_source": _EARLIER}
    return file_text(
        "Written by `hone crosstrain`: change it, and give it to `hone run`.",
        {
            "title": f"{dbms.title}: trained on one workload, tested on another",
            "base": BASE,
        },
        {
            "sources": sources,
            "subjects": {
                BASE: {"dbms": dbms.name, "source": "source", "variant": BASE},
                CONTROL: {"like": BASE},
                **subjects,
            },
            "workload": {**workload_table(workload, dbms), "sets": sets},
            "design": design_table(design, len(subjects) + 2),
        },
    )


def _sets(workload: WorkloadOptions, dbms: Dbms) -> tuple[str, ...]:
    name = workload.suite or dbms.usual_suite
    suite = suites.load(name)
    sets = workload.sets or suite.measured()
    suites.full_names(suite, sets)
    if not 2 <= len(sets) <= _MOST:
        raise UsageError(
            f"{name}: 2 to {_MOST} sets can be trained on in turn, not {len(sets)}",
            hint="name some: --sets A,B,…; 'hone suites' lists them",
        )
    return sets


def _name(chosen: tuple[str, ...], sets: tuple[str, ...]) -> str:
    word = "all" if set(chosen) == set(sets) else "+".join(chosen)
    return fitting_name(f"on-{word}")
