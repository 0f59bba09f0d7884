"""Where, how and when a page's figures were measured, and how to repeat that."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dbhone.measurement.record import Run
from dbhone.report.findings import Findings, Origin
from dbhone.units import count_of, duration, exact_percent, size


def environment(findings: Findings) -> tuple[tuple[str, str], ...]:
    """Return the machine, the suite and the design as pairs of name and value."""
    run, machine = findings.run, findings.run.machine
    pairs = {
        "CPU": f"{machine.cpu_model}, {count_of(machine.cores, 'core')}",
        "Memory": size(machine.memory_bytes),
        "System": f"{machine.distribution}, kernel {machine.kernel}",
        "Virtualisation": machine.virtualisation,
        "CPU governor": machine.governor,
        "Machine": machine.fingerprint,
        **machine.details,
        "Suite": f"{run.suite}, size {run.size}",
        **_origins(findings.origins),
        "dbhone": run.hone_version,
    }
    return tuple((name, text) for name, text in pairs.items() if text)


def _origins(origins: Sequence[Origin]) -> dict[str, str]:
    """Return how each run was measured, and when."""
    facts = {}
    for origin in origins:
        run = origin.run
        suffix = f" of run {run.id}" if len(origins) > 1 else ""
        facts[f"Design{suffix}"] = (
            f"{count_of(origin.blocks, 'block')}, seed {run.design.seed}, "
            f"target ±{exact_percent(run.design.target)},"
            f" budget {duration(run.design.budget_seconds)}"
        )
        moment = run.created_at.strftime("%Y-%m-%d %H:%M UTC")
        facts[f"Begun{suffix}"] = f"{moment}, took {duration(run.seconds)}"
    return facts


_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An experiment file: its name, its text and the command that executes it.

    ``options`` say how a run was measured otherwise than the file says.
    """

    name: str
    text: str
    options: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The command that executes it, where it was saved under its name."""
        return shlex.join(("hone", "run", self.name, *self.options))


def repeat(run: Run) -> Repeat:
    """Return how to repeat a run, whether its experiment was a file or ships with hone."""
    name = run.experiment_name.rsplit("/", 1)[-1].removesuffix(_SUFFIX)
    otherwise = run.design_otherwise.items()
    options = (word for key, value in otherwise for word in (f"--{key}", str(value)))
    return Repeat(name=f"{name}{_SUFFIX}", text=run.experiment, options=tuple(options))
