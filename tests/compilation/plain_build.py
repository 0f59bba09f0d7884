"""Plain builds that nothing has compiled, for tests that need a build but not how it was made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build, Manifest
from dbhone.compilation.transforms.base import Pass
from tests.compilation.compilers import GCC


def plain_build(folder: Path, inputs: BuildInputs, **facts: Any) -> Build:
    """Return a build in ``folder`` that gcc made of the inputs; ``facts`` are of its manifest."""
    usual: dict[str, Any] = {
        "digest": folder.name,
        "version": "1.0",
        "source": inputs.source,
        "source_digest": "50",
        "pass_": Pass.PLAIN,
        "family": GCC.family,
        "compiler": GCC.label,
        "compiler_identity": GCC.identity,
        "compile_flags": ("-O2",),
        "link_flags": (),
        "steps": (),
        "profile": None,
        "seconds": 20.0,
        "phase_seconds": {},
        "compile_commands": 1,
        "files": {},
        "primary": "server",
        "built_at": datetime(2026, 2, 28, tzinfo=UTC),
    }
    return Build(folder, Manifest(inputs=inputs, **usual | facts))
