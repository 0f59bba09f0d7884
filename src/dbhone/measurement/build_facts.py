"""What is kept of a subject's build: where its time went, and what a post-link optimiser did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTarget:
    """The compilers' CPU time for one build target, and how many files they compiled for it.

    A target of CMake; of makefiles, what lies in one folder.
    """

    name: str
    cpu_seconds: float
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTimings:
    """Where the time of a build went.

    ``seconds`` is wall time, ``cpu_seconds`` the compilers' own, with ``jobs`` at once.
    ``files`` counts the files that were compiled; ``slowest`` has the slowest of all that the
    compilers made, links too, with its seconds, the slowest first; ``phases`` the wall time of
    configure, compile, tools.
    ``build_targets`` has those that took the most CPU time, the largest first; it is empty in old
    runs. ``instrumented_seconds`` is the wall time of the build that was trained, None where none
    was.
    """

    seconds: float
    cpu_seconds: float
    jobs: int
    files: int
    phases: dict[str, float]
    slowest: tuple[tuple[str, float], ...]
    instrumented_seconds: float | None = None
    build_targets: tuple[BuildTarget, ...] = ()

    def share(self, target: BuildTarget) -> float:
        """Return the share of the compilers' CPU time that went into a build target."""
        return target.cpu_seconds / self.cpu_seconds if self.cpu_seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLayout:
    """What a post-link optimiser, ``tool``, did to the measured code.

    Of all ``functions`` the training reached ``profiled``; ``moved`` of these have their blocks in
    another order now. ``unmovable`` were reached and had to stay, ``skipped`` are the names of
    those that were left alone. ``text_bytes`` is the code of what was linked, ``hot_bytes`` what
    the training reached of it, in its new place. The taken branches are the training's, in the old
    layout and in the new one.
    """

    tool: str
    functions: int
    profiled: int
    moved: int
    unmovable: int
    skipped: tuple[str, ...]
    text_bytes: int
    hot_bytes: int
    taken_before: int
    taken_after: int
