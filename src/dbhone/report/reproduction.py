"""How to repeat what a page is of: the experiment files, and the commands."""

from __future__ import annotations

from dataclasses import dataclass

from dbhone.measurement.record import Run

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An experiment file: its name, its text and the command that executes it."""

    name: str
    text: str

    @property
    def command(self) -> str:
        """The command that executes it, where it was saved under its name."""
        return f"hone run {self.name}"


def repeat(run: Run) -> Repeat:
    """Return how to repeat a run, whether its experiment was a file or ships with hone."""
    name = run.experiment_name.rsplit("/", 1)[-1].removesuffix(_SUFFIX)
    return Repeat(name=f"{name}{_SUFFIX}", text=run.experiment)
