"""Histories that add up: by a version that both measured, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dbhone.analysis.change_points import find_changes
from dbhone.analysis.comparison import analyse
from dbhone.analysis.joinable_run import joinable
from dbhone.analysis.joining import Joined, join
from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import Analysis
from dbhone.errors import UsageError
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Role, Run, Warning
from dbhone.measurement.sample_array import SampleArray
from tests.analysis.blocks import noisy
from tests.analysis.columns import columns, samples_of
from tests.analysis.histories import STEPS, a_run

TRUTH = {"5.6": 1.0, "5.7": 0.9, "8.0": 0.6, "8.4": 0.5, "9.0": 0.4}


def measured(
    run: Run, *, blocks: int = 12, seed: int | None = None, spread: float = 0.02
) -> SampleArray:
    """Return its measurements: each version has its true ratio to the oldest of all."""
    ratios = [TRUTH[each.version] for each in run.subjects]
    values = noisy(
        run.id if seed is None else seed,
        (len(ratios), len(run.steps), blocks),
        tuple(ratios),
        spread=spread,
    )
    values *= 10.0**run.id  # each run is another day
    places = np.nonzero(values)
    names = (each.name for each in run.subjects), (each.name for each in run.steps)
    return samples_of(*names, places, {THROUGHPUT.name: values[places]})


def in_layouts(run: Run, *, layouts: int = 6, seed: int = 1) -> Run:
    """Return a run whose subjects were measured in so many layouts."""
    subjects = tuple(replace(each, inputs={"layouts": layouts}) for each in run.subjects)
    experiment = f"{run.experiment}[design]\nlayouts = {layouts}\n"
    design = replace(run.design, seed=seed)
    return replace(run, subjects=subjects, experiment=experiment, design=design)


def slow(*sets: str) -> tuple[Warning, ...]:
    """Return the warnings that fresh clients measured these sets."""
    return tuple(Warning(code="slow-operations", text="few", step=name) for name in sets)


def joined(*runs: Run, blocks: int = 12, spread: float = 0.02) -> Joined:
    return join([joinable(each, measured(each, blocks=blocks, spread=spread)) for each in runs])


def analysed(whole: Joined) -> Analysis:
    base = whole.run.base
    assert base is not None
    return analyse(
        whole.samples,
        base=base.name,
        steps=whole.run.steps,
        metrics=(THROUGHPUT,),
        links=whole.lineage.links,
    )


class TestWhatAddsUp:
    def test_a_version_that_never_ran_beside_the_oldest_has_its_ratio_to_it(self) -> None:
        found = analysed(joined(a_run(1, "5.6", "5.7", "8.0"), a_run(2, "8.0", "8.4")))
        effects = [each for each in found.effects if each.subject == "8.4"]
        assert len(effects) == STEPS
        for each in effects:
            assert each.ratio == pytest.approx(0.5, rel=0.05)
            assert each.low is not None
            assert each.high is not None
            assert each.low < 0.5 < each.high

    def test_its_interval_carries_the_noise_of_both_runs(self) -> None:
        first, second = a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4")
        widths = {
            each.subject: half_width(each) or 0 for each in analysed(joined(first, second)).effects
        }
        alone = analysed(joined(second, a_run(3, "8.0", "9.0")))
        own = next(half_width(each) or 0 for each in alone.effects if each.subject == "8.4")
        assert widths["8.4"] > max(own, widths["8.0"]) * 0.99
        assert widths["8.4"] < (own + widths["8.0"]) * 1.5

    def test_its_interval_holds_the_truth_as_often_as_it_says(self) -> None:
        held = [
            each.low < 0.5 < each.high
            for seed in range(60)
            for first, second in [(a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4"))]
            for whole in [
                join(
                    [
                        joinable(first, measured(first, seed=2 * seed)),
                        joinable(second, measured(second, seed=2 * seed + 1, blocks=7)),
                    ]
                )
            ]
            for each in analysed(whole).effects
            if each.subject == "8.4" and each.low is not None and each.high is not None
        ]
        assert len(held) == 60 * STEPS
        assert np.mean(held) >= 0.93

    def test_runs_join_one_after_the_other_in_whatever_order_they_are_named(self) -> None:
        whole = joined(a_run(3, "8.4", "9.0"), a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4"))
        assert [each.run.id for each in whole.parts] == [1, 2, 3]
        assert whole.lineage.versions == ("5.6", "8.0", "8.4", "9.0")
        found = analysed(whole)
        ratios = {each.subject: each.ratio for each in found.summaries if each.group is None}
        assert ratios["9.0"] == pytest.approx(0.4, rel=0.05)

    def test_an_older_version_that_joins_becomes_the_base(self) -> None:
        whole = joined(a_run(1, "5.7", "8.0"), a_run(2, "5.6", "5.7"))
        assert whole.run.base is not None
        assert whole.run.base.name == "5.6"
        ratios = {each.subject: each.ratio for each in analysed(whole).effects}
        assert ratios["8.0"] == pytest.approx(0.6, rel=0.05)
        assert ratios["control"] == pytest.approx(1, rel=0.05)

    def test_a_set_that_only_some_runs_measured_by_fresh_clients_is_left_out(self) -> None:
        one, two = a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4")
        name = one.steps[0].set
        whole = joined(one, replace(two, warnings=slow(name)))
        assert whole.unlike_sets == (name,)
        assert [step.name for step in whole.run.steps] == [
            step.name for step in one.steps if step.set != name
        ]
        assert whole.samples.steps == tuple(step.name for step in whole.run.steps)
        alike = joined(*(replace(run, warnings=slow(name)) for run in (one, two)))
        assert alike.unlike_sets == ()
        assert len(alike.run.steps) == STEPS

    def test_a_version_between_is_put_in_its_place(self) -> None:
        whole = joined(a_run(1, "5.6", "8.0", "9.0"), a_run(2, "5.6", "5.7"))
        assert whole.lineage.versions == ("5.6", "5.7", "8.0", "9.0")

    def test_only_steps_that_all_runs_have_are_left(self) -> None:
        one = a_run(1, "5.6", "8.0")
        two = a_run(2, "8.0", "8.4", steps=one.steps[2:])
        assert joined(one, two).run.steps == one.steps[2:]

    def test_blocks_of_both_runs_in_the_same_layouts_are_one_value(self) -> None:
        runs = [in_layouts(run) for run in (a_run(1, "5.6", "8.0"), a_run(2, "5.6", "8.0"))]
        alone, both = (
            analysed(join([joinable(run, measured(run).in_layouts(6)) for run in chosen]))
            for chosen in (runs[:1], runs)
        )
        assert {effect.blocks for effect in alone.effects} == {6}
        assert {effect.blocks for effect in both.effects} == {6}

    def test_what_a_run_says_of_its_subject_is_said_of_it_in_the_whole(self) -> None:
        warning = Warning(code="rejected", text="it failed", subject="8.0")
        one, two = a_run(1, "5.6", "8.0"), a_run(2, "5.6", "8.0")
        broken = tuple(replace(each, broken="crashed") for each in two.subjects[2:])
        other = replace(two, subjects=(*two.subjects[:2], *broken), warnings=(warning,))
        whole = joined(one, other)
        assert whole.run.warnings == (warning,)
        assert [each.broken for each in whole.run.subjects] == [None, "crashed", None]

    def test_a_warning_of_a_subject_that_gets_another_name_gets_it_too(self) -> None:
        plain = "[workload]\nrows = 1000\n"
        one, two = (
            replace(a_run(number, "5.6", name), experiment=plain)
            for number, name in ((1, "8.0"), (2, "8.0"))
        )
        levered = tuple(replace(each, levers=("thp=on",)) for each in two.subjects[2:])
        warning = Warning(code="failed-invocations", text="it failed", subject="8.0")
        other = replace(two, subjects=(*two.subjects[:2], *levered), warnings=(warning,))
        whole = joined(one, other)
        assert [each.name for each in whole.run.subjects] == [
            "5.6",
            "8.0",
            "8.0 of run 2",
            "control",
        ]
        assert [each.subject for each in whole.run.warnings] == ["8.0 of run 2"]


class TestChanges:
    def test_are_found_between_neighbours_of_different_runs(self) -> None:
        whole = joined(a_run(1, "5.6", "8.0", "9.0"), a_run(2, "5.6", "5.7"))
        history = find_changes(whole.everything, whole.lineage, steps=whole.run.steps)
        for series in history.steps:
            assert [each.after for each in series.changes] == ["5.7", "8.0", "9.0"]
            assert [round(each.level.ratio, 1) for each in series.changes] == [0.9, 0.6, 0.4]
            ratios = [each.ratio for each in series.changes]
            assert ratios == pytest.approx([0.9, 0.6 / 0.9, 0.4 / 0.6], rel=0.06)

    def test_versions_of_different_runs_without_a_change_are_pooled(self) -> None:
        even = {"5.6": 1.0, "5.7": 1.0, "8.0": 1.0}
        runs = a_run(1, "5.6", "8.0"), a_run(2, "5.6", "5.7")
        values = [columns(measured(each)) for each in runs]
        for run, of in zip(runs, values, strict=True):
            of.values[THROUGHPUT.name] /= np.array(
                [
                    TRUTH[run.subjects[at].version] / even[run.subjects[at].version]
                    for at in of.subject
                ]
            )
        whole = join([joinable(run, of.array()) for run, of in zip(runs, values, strict=True)])
        history = find_changes(whole.everything, whole.lineage, steps=whole.run.steps)
        for series in history.steps:
            (segment,) = series.segments
            assert segment.versions == ("5.6", "5.7", "8.0")
            assert segment.ratio == pytest.approx(1, rel=0.03)

    def test_a_pooled_interval_holds_the_truth_where_runs_share_more_than_one_version(self) -> None:
        held = []
        for seed in range(40):
            runs = a_run(1, "5.6", "5.7", "8.0"), a_run(2, "5.6", "5.7")
            values = [columns(measured(each, seed=2 * seed + at)) for at, each in enumerate(runs)]
            for run, of in zip(runs, values, strict=True):
                names = [run.subjects[at].version for at in of.subject]
                level = [TRUTH[name] / (1.0 if name == "5.6" else 0.5) for name in names]
                of.values[THROUGHPUT.name] /= np.array(level)
            whole = join([joinable(run, of.array()) for run, of in zip(runs, values, strict=True)])
            history = find_changes(whole.everything, whole.lineage, steps=whole.run.steps)
            last = [each.segments[-1] for each in history.steps]
            held += [(each.low or 0.0) < 0.5 < (each.high or 0.0) for each in last]
        assert np.mean(held) >= 0.93

    def test_a_version_of_a_short_run_counts_beside_an_anchor_that_both_runs_have(self) -> None:
        long, short = a_run(1, "5.6", "8.0"), a_run(2, "5.6", "5.7")
        whole = join([joinable(long, measured(long)), joinable(short, measured(short, blocks=6))])
        history = find_changes(whole.everything, whole.lineage, steps=whole.run.steps)
        for series in history.steps:
            assert series.versions == ("5.6", "5.7", "8.0")

    def test_no_larger_than_what_the_control_of_either_run_shows_are_not_told(self) -> None:
        runs = a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4")
        values = [columns(measured(each)) for each in runs]
        again = values[1].subjects.index("control")
        values[1].values[THROUGHPUT.name][values[1].subject == again] *= 0.5
        whole = join([joinable(run, of.array()) for run, of in zip(runs, values, strict=True)])
        history = find_changes(whole.everything, whole.lineage, steps=whole.run.steps)
        assert not any(each.changes for each in history.steps)


class TestWhatDoesNotAddUp:
    def refused(self, *runs: Run) -> str:
        with pytest.raises(UsageError) as caught:
            joined(*runs)
        return f"{caught.value.message} | {caught.value.hint}"

    def test_runs_that_share_no_version(self) -> None:
        said = self.refused(a_run(1, "5.6", "5.7"), a_run(2, "8.0", "8.4"))
        assert "run 2 shares no version with run 1" in said
        assert "--join 1" in said

    def test_a_version_that_is_another_build_or_has_other_settings(self) -> None:
        other = a_run(2, "8.0", "8.4")
        base = replace(other.subjects[0], build_digest="0" * 64, settings={"x": "1"})
        said = self.refused(
            a_run(1, "5.6", "8.0"), replace(other, subjects=(base, *other.subjects[1:]))
        )
        assert "8.0 is not the same in run 1 and run 2: build and settings differ" in said

    def test_other_work(self) -> None:
        said = self.refused(
            a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4", workload="rows = 5\nsets = ['scan']")
        )
        assert said.startswith(
            "run 2 did different work from run 1: their [workload] differ in rows"
        )
        assert "run 2 ran sysbench:micro (full)" in self.refused(
            a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4", size="full")
        )

    def test_another_machine(self) -> None:
        run = a_run(2, "8.0", "8.4")
        elsewhere = replace(run, machine=replace(run.machine, fingerprint="elsewhere"))
        assert "a different machine" in self.refused(a_run(1, "5.6", "8.0"), elsewhere)

    @pytest.mark.parametrize("other", [{"seed": 2}, {"layouts": 8}, None])
    def test_runs_that_took_other_layouts(self, other: dict[str, int] | None) -> None:
        one, two = a_run(1, "5.6", "8.0"), a_run(2, "5.6", "8.0")
        second = two if other is None else in_layouts(two, **other)
        assert "did not take the same layouts" in self.refused(in_layouts(one), second)

    def test_a_run_twice_and_a_history_of_one_version(self) -> None:
        run = a_run(1, "5.6", "8.0")
        assert "run 1 is named twice" in self.refused(run, run)
        assert "run 2 measured fewer than two versions" in self.refused(run, a_run(2, "8.0"))

    @pytest.mark.parametrize(
        ("code", "way"),
        [
            ("short-slices", "sets were measured in short slices"),
            ("one-server", "one server was up at a time"),
            ("cpus-apart", "clients had cores of their own"),
            ("awake", "CPUs were kept awake"),
        ],
    )
    def test_a_way_of_measuring_of_one_run_only(self, code: str, way: str) -> None:
        chosen = Warning(code=code, text="it was measured so")
        other = a_run(2, "8.0", "8.4", warnings=(chosen,))
        said = self.refused(a_run(1, "5.6", "8.0"), other)
        assert f"{way} in only one of run 1 and run 2" in said
        joined(a_run(1, "5.6", "8.0", warnings=(chosen,)), other)

    def test_sets_that_only_some_runs_measured_by_fresh_clients(self) -> None:
        one, two = a_run(1, "5.6", "8.0"), a_run(2, "8.0", "8.4")
        sets = {step.set for step in one.steps}
        said = self.refused(one, replace(two, warnings=slow(*sets)))
        assert "had fresh clients in only some of run 1 and run 2" in said

    def test_orders_that_contradict(self) -> None:
        said = self.refused(a_run(1, "5.6", "8.0", "8.4"), a_run(2, "8.4", "8.0"))
        assert "contradict" in said


def plain(number: int, **servers: str) -> Run:
    """Return a run that is no history: subjects by name, and the version that each is."""
    run = a_run(number, *servers.values())
    base, control, *others = run.subjects
    names = list(servers)
    subjects = [replace(base, name=names[0]), control]
    subjects += [replace(each, name=n) for each, n in zip(others, names[1:], strict=True)]
    digests = [replace(each, build_digest=f"{each.version:0>64}") for each in subjects]
    return replace(
        run, subjects=tuple(digests), experiment=run.experiment.replace("[history]", "[x]")
    )


class TestRunsThatAreNoHistories:
    def test_add_up_by_what_is_the_same_server_whatever_its_name(self) -> None:
        whole = joined(plain(1, rel="5.6", pgo="8.0"), plain(2, fast="8.0", faster="8.4"))
        assert [each.name for each in whole.run.subjects] == ["rel", "pgo", "faster", "control"]
        assert [each.role for each in whole.run.subjects][:2] == [Role.BASE, Role.CANDIDATE]
        assert whole.lineage.versions == ()
        assert whole.lineage.links.anchors == {"faster": "pgo"}
        effects = [each for each in analysed(whole).effects if each.subject == "faster"]
        assert len(effects) == STEPS
        assert all(each.ratio == pytest.approx(0.5, rel=0.05) for each in effects)

    def test_a_control_that_is_the_same_in_both_counts_in_both(self) -> None:
        one, two = plain(1, rel="5.6", pgo="8.0"), plain(2, plain="5.6", fast="8.0")
        whole = joined(one, two)
        assert [each.name for each in whole.run.subjects] == ["rel", "pgo", "control"]
        assert whole.lineage.links.runs["control"] == {0, 1}
        blocks = {each.subject: each.blocks for each in analysed(whole).summaries}
        assert blocks == {"pgo": 24, "control": 24}

    def test_a_control_of_another_base_stays_its_runs_own(self) -> None:
        whole = joined(plain(1, rel="5.6", pgo="8.0"), plain(2, fast="8.0", faster="8.4"))
        assert "control of run 2" in whole.everything.subjects
        assert whole.lineage.links.runs["control"] == {0}

    def test_a_name_that_means_something_else_in_the_other_run_gets_its_runs_number(self) -> None:
        whole = joined(plain(1, rel="5.6", pgo="8.0"), plain(2, rel="5.6", pgo="8.4"))
        names = [each.name for each in whole.run.subjects]
        assert names == ["rel", "pgo", "pgo of run 2", "control"]
        ratios = {each.subject: each.ratio for each in analysed(whole).summaries if not each.group}
        assert ratios["pgo of run 2"] == pytest.approx(0.5, rel=0.05)
        assert ratios["control"] == pytest.approx(1, rel=0.05)

    def test_the_order_in_which_they_are_named_does_not_matter(self) -> None:
        runs = (
            plain(1, rel="5.6", pgo="8.0"),
            plain(2, a="8.4", b="9.0"),
            plain(3, c="8.0", d="8.4"),
        )
        whole = joined(*runs)
        assert [each.run.id for each in whole.parts] == [1, 3, 2]
        assert joined(*reversed(runs)).run == whole.run
        found = {each.subject: each.ratio for each in analysed(whole).summaries if not each.group}
        assert found["b"] == pytest.approx(0.4, rel=0.05)

    def test_a_history_and_an_experiment_add_up(self) -> None:
        one = a_run(1, "5.6", "8.0")
        two = plain(2, old="8.0", new="8.4")
        same = [replace(s, build_digest=one.subjects[0].build_digest) for s in two.subjects]
        whole = joined(one, replace(two, subjects=tuple(same)))
        assert [each.name for each in whole.run.subjects] == ["5.6", "8.0", "new", "control"]

    def test_what_one_run_trained_on_is_in_sample_in_all(self) -> None:
        one, two = plain(1, rel="5.6", pgo="8.0"), plain(2, rel="5.6", lto="8.4")
        trained = replace(two.steps[0], in_sample=True)
        whole = joined(one, replace(two, steps=(trained, *two.steps[1:])))
        assert [each.in_sample for each in whole.run.steps] == [True] + [False] * (STEPS - 1)

    @pytest.mark.parametrize(
        "change",
        [{"build_digest": "0" * 64}, {"settings": {"x": "1"}}, {"levers": ("jemalloc",)}],
        ids=["build", "settings", "levers"],
    )
    def test_what_is_not_the_same_server_joins_nothing(self, change: dict[str, object]) -> None:
        one, two = plain(1, rel="5.6", pgo="8.0"), plain(2, rel="5.6", lto="8.4")
        base = replace(two.subjects[0], **change)  # type: ignore[arg-type]
        with pytest.raises(UsageError) as caught:
            joined(one, replace(two, subjects=(base, *two.subjects[1:])))
        assert "run 2 shares no subject with run 1" in caught.value.message
        differing = next(iter(change)).removesuffix("_digest")
        assert (
            f"(rel of run 1 is a different one: they differ in {differing})" in caught.value.message
        )
        assert "the same build, settings and levers" in str(caught.value.hint)

    def test_a_run_that_measured_nothing_says_so(self) -> None:
        with pytest.raises(UsageError, match="run 2 has measured nothing that could be compared"):
            join(
                [
                    joinable(one := plain(1, rel="5.6", pgo="8.0"), measured(one)),
                    joinable(two := plain(2, rel="5.6", pgo="8.0"), measured(two, blocks=0)),
                ]
            )
