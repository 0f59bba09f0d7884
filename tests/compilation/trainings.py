"""Trains the very small program."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from dbhone.compilation import builder, profile
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import FinishedTraining, Profile
from dbhone.compilation.profile_counts import counters_of
from dbhone.compilation.toolchain import find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_spec


def instrumented(tree: SourceTree, session: Session, compiler: str) -> Build:
    spec = make_spec(tree, "pgo", compiler=compiler, pass_=Pass.INSTRUMENT)
    return builder.make(spec, session, print)


def training(
    build: Build,
    counters: Path,
    session: Session,
    compiler: str,
    *,
    began: float,
    workload: object = ("main",),
) -> FinishedTraining:
    return FinishedTraining(
        build=build,
        compiler=find_compiler(compiler),
        counters=counters_of(find_compiler(compiler), counters, session),
        key=profile.training_key(build, workload),
        began=began,
        trained_on=("main",),
        seconds=1.5,
    )


def train(
    tree: SourceTree,
    session: Session,
    compiler: str,
    build: Build | None = None,
    *,
    workload: object = ("main",),
) -> Profile:
    build = build or instrumented(tree, session, compiler)
    counters = session.workdir("counters")
    env = os.environ | counters_of(find_compiler(compiler), counters, session).environment
    began = time.time()
    subprocess.run([build.path("program")], env=env, check=True, capture_output=True)
    finished = training(build, counters, session, compiler, began=began, workload=workload)
    return profile.collect(finished, session)
