"""What a training on one workload is worth on another. Pure: samples in, records out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from dbhone.analysis.comparison import analyse
from dbhone.analysis.verdict import Summary
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Step
from dbhone.measurement.sample_array import SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTraining:
    """Each training, by its subject, on each tested set.

    ``trained`` has the sets of each training. ``gains`` are ratios to the base, by tested set and
    subject; ``losses`` are ratios to the subject that was trained on the tested set alone, which
    has none of its own. A ratio is the geometric mean over the set's steps, with its interval.
    ``alternatives`` are subjects that were trained on the same sets as one before them, otherwise:
    on another source, or for another time. Each has the name of that one, and its ratio to it over
    all steps.
    """

    trained: Mapping[str, frozenset[str]]
    gains: Mapping[str, Mapping[str, Summary]]
    losses: Mapping[str, Mapping[str, Summary]]
    alternatives: Mapping[str, tuple[str, Summary]]

    def worst(self, subject: str) -> tuple[str, Summary] | None:
        """Return the tested set on which a training loses most, None if it was compared nowhere."""
        compared = [
            (name, losses[subject]) for name, losses in self.losses.items() if subject in losses
        ]
        return min(compared, key=lambda one: one[1].ratio, default=None)

    def smallest(self, tolerance: float) -> str | None:
        """Return the training on the fewest sets that loses at most ``tolerance`` on each set.

        The tolerance is a fraction. Of several on as few sets it is the one whose worst loss is
        the least. Estimates decide, not intervals. None if there is none.
        """
        within = [
            (len(sets), -worst[1].ratio, subject)
            for subject, sets in self.trained.items()
            if subject not in self.alternatives
            and (worst := self.worst(subject)) is not None
            and 1 - worst[1].ratio <= tolerance
        ]
        return min(within)[2] if within else None


def cross_training(
    samples: SampleArray,
    steps: Sequence[Step],
    trained: Mapping[str, frozenset[str]],
    *,
    base: str,
    controls: Collection[str] = (),
) -> CrossTraining:
    """Compare all trainings with the base, and with each tested set's own training.

    ``trained`` has the subjects that took part to the end, in their order.
    """
    usual: dict[frozenset[str], str] = {}
    for name, sets in trained.items():
        usual.setdefault(sets, name)
    gains: dict[str, Mapping[str, Summary]] = {}
    losses: dict[str, Mapping[str, Summary]] = {}
    for tested in dict.fromkeys(step.suite_set for step in steps):
        # A summary is over steps that are alike in-sample: here those of the tested set.
        marked = [replace(step, in_sample=step.suite_set == tested) for step in steps]
        gains[tested] = _summaries(samples, marked, trained, base, controls)
        alone = usual.get(frozenset({tested}))
        if alone is not None:
            losses[tested] = _summaries(samples, marked, trained, alone)
    every = [replace(step, in_sample=True) for step in steps]
    alternatives: dict[str, tuple[str, Summary]] = {}
    for name, sets in trained.items():
        other = usual[sets]
        # Either may not have been measured yet, in a run that was interrupted.
        compared = _summaries(samples, every, (name,), other).get(name) if name != other else None
        if compared is not None:
            alternatives[name] = other, compared
    return CrossTraining(trained=trained, gains=gains, losses=losses, alternatives=alternatives)


def _summaries(
    samples: SampleArray,
    steps: Sequence[Step],
    trained: Collection[str],
    base: str,
    controls: Collection[str] = (),
) -> dict[str, Summary]:
    """Return the summary of each training over the in-sample steps, as a ratio to ``base``."""
    analysis = analyse(samples, base=base, steps=steps, controls=controls, metrics=(THROUGHPUT,))
    return {
        summary.subject: summary
        for summary in analysis.throughput_summaries
        if summary.group is None and summary.in_sample and summary.subject in trained
    }
