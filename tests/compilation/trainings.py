"""Trains the very small program."""

from __future__ import annotations

import os
import subprocess
import time

from dbhone.compilation import builder, profile
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import Profile
from dbhone.compilation.profile_counts import Counters, counters_of
from dbhone.compilation.toolchain import find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_spec


def instrumented(tree: SourceTree, session: Session, compiler: str) -> Build:
    spec = make_spec(tree, "pgo", compiler=compiler, pass_=Pass.INSTRUMENT)
    return builder.make(spec, session, print)


def collect(
    build: Build,
    counters: Counters,
    session: Session,
    *,
    began: float,
    workload: object = ("main",),
) -> Profile:
    return profile.collect(
        build, counters, workload, session, began=began, trained_on=("main",), seconds=1.5
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
    counters = counters_of(find_compiler(compiler), session.workdir("counters"), session)
    env = os.environ | counters.environment
    began = time.time()
    subprocess.run([build.path("program")], env=env, check=True, capture_output=True)
    return collect(build, counters, session, began=began, workload=workload)
