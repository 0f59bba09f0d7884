"""Published figures and named configs say what the articles say that they are from.

The articles are others' and do not ship with dbhone: the tests are skipped where the folder
``shared/seeds`` beside the repository, or the one that DBHONE_SEEDS names, is not there.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from statistics import fmean

import pytest

from dbhone.experiment.declaration.load import load_shipped
from dbhone.experiment.declaration.named_configs import (
    ConfigSetting,
    NamedConfig,
    config_names,
    load_config,
)
from dbhone.report.publication import By, Publication, load_publication, publication_names
from dbhone.units import parse_size
from dbhone.workload import suite as suites

ROOT = Path(__file__).parents[2]
ARTICLES = Path(os.environ.get("DBHONE_SEEDS", ROOT.parent / "shared" / "seeds"))

pytestmark = pytest.mark.skipif(
    not ARTICLES.is_dir(), reason=f"the articles are not at hand: there is no {ARTICLES}"
)

Lines = list[str]


def article(source: str) -> Lines:
    """Return the lines of the article whose title a source quotes, from its title on."""
    title = source.split('"')[1]
    for path in sorted(ARTICLES.glob("*.txt")):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        if title in lines:
            return lines[lines.index(title) :]
    raise AssertionError(f"no article has the title {title}")


def row_of(label: str, line: str) -> tuple[float, ...]:
    """Return the figures of a table's row. It must have the label."""
    assert line.startswith(f"{label} ")
    return tuple(map(float, line.removeprefix(label).split()))


# hiroi10's tables: below a heading two of them, throughput and 95th percentile latency, each of
# three lines.
HIROI10 = {
    "simple-select": "simple select",
    "non-index-update": "non index updates",
    "index-update": "index updates",
    "oltp": "oltp",
}
METRICS = ("throughput", "latency_p95")


def hiroi10s_tables(lines: Lines) -> dict[tuple[str, str], tuple[tuple[float, ...], ...]]:
    """Return threads, normal and PGO by step and metric."""
    found = {}
    for step, heading in HIROI10.items():
        below = lines[lines.index(heading) :]
        heads = [place for place, line in enumerate(below) if line.startswith("thds ")]
        for metric, head in zip(METRICS, heads[:2], strict=True):
            rows = zip(("thds", "normal", "with pgo"), below[head : head + 3], strict=True)
            found[step, metric] = tuple(row_of(label, line) for label, line in rows)
    return found


def test_hiroi10s_figures_are_those_of_his_tables() -> None:
    of = load_publication("hiroi10-pgo")
    shipped = {
        (figures.step, figures.metric): (
            tuple(map(float, figures.threads)),
            figures.values["normal"],
            figures.values["pgo"],
        )
        for figures in of.steps
    }
    assert shipped == hiroi10s_tables(article(of.source))


# Jiang's article has no title. It shows four seconds of each build, in this order.
JIANG = "姜老师"
JIANGS_BUILDS = ("instrumented", "pgo", "original")
SECOND = re.compile(r"thds: (\d+) tps: ([\d.]+) .*?\(ms,95%\): ([\d.]+)")


def jiangs_seconds() -> list[tuple[str, ...]]:
    (text,) = (
        text
        for path in ARTICLES.glob("*.txt")
        if JIANG in (text := path.read_text(encoding="utf-8"))
    )
    return SECOND.findall(text)


def test_jiangs_figures_are_the_means_of_the_seconds_that_are_shown() -> None:
    of = load_publication("jiang-pgo")
    assert JIANG in of.author
    seconds = jiangs_seconds()
    assert len(seconds) == 4 * len(JIANGS_BUILDS)
    throughput, latency = of.steps
    for place, build in enumerate(JIANGS_BUILDS):
        own = seconds[4 * place : 4 * place + 4]
        for figures in of.steps:
            assert {(int(threads),) for threads, _, _ in own} == {figures.threads}
        assert throughput.values[build] == (round(fmean(float(tps) for _, tps, _ in own)),)
        assert latency.values[build] == pytest.approx((fmean(float(p95) for *_, p95 in own),))


def test_jiangs_experiment_has_his_clients_and_holds_his_point_selects_out() -> None:
    experiment = load_shipped("jiang")
    assert set(experiment.workload.scale.threads or ()) == {
        int(threads) for threads, _, _ in jiangs_seconds()
    }
    (step,) = {figures.step for figures in load_publication("jiang-pgo").steps}
    assert step in experiment.workload.chosen
    trained = [each.training for each in experiment.subjects if each.training is not None]
    assert len(trained) == 2
    assert all(step not in training.workload.chosen for training in trained)


# Callaghan's tables have lost what parts their cells: a line is "Point: avg", then one figure of
# each candidate after the other. The base has none.
CALLAGHANS_GROUPS = {"Point": ("point",), "Range": ("range", "aggregate"), "Write": ("write",)}
CALLAGHANS_CONFIGS = ("callaghan-5.6", "callaghan-5.7", "callaghan-8.0.2x", "callaghan-8.0.3x")
"""His articles only link to them; they are from his repository."""
CALLAGHANS_SUMMARIES = (
    "callaghan-versions-cached",
    "callaghan-versions-os-cached",
    "callaghan-builds-cached",
    "callaghan-builds-os-cached",
)


def callaghans_name(of: Publication, subject: str) -> str:
    """Return a subject as his table calls it: of versions all but the base are built with LTO."""
    if of.by is not By.VERSION:
        return subject
    return f"my{subject.replace('.', '')}_rel{'' if subject == of.base else '_lto'}"


def callaghans_table(of: Publication) -> Lines:
    """Return the lines of a publication's figures as his table has them, with its head."""
    lines = ["".join(callaghans_name(of, subject) for subject in of.subjects)]
    for label, groups in CALLAGHANS_GROUPS.items():
        (figures,) = (each for each in of.groups if each.groups == groups)
        spreads = [figures.values[candidate] for candidate in of.candidates]
        lines += [
            f"{label}: avg{''.join(f'{each.average:.2f}' for each in spreads)}",
            f"{label}: median{''.join(f'{each.median:.2f}' for each in spreads)}",
            f"{label}: min{''.join(f'{each.min:.2f}' for each in spreads)}",
            f"{label}: max{''.join(f'{each.max:.2f}' for each in spreads)}",
            f"{label}: stddev{''.join(f'{each.stddev:.3f}' for each in spreads)}",
        ]
    return lines


@pytest.mark.parametrize("name", CALLAGHANS_SUMMARIES)
def test_callaghans_figures_are_those_of_his_tables(name: str) -> None:
    of = load_publication(name)
    lines, table = article(of.source), callaghans_table(of)
    head = lines.index(table[0])
    assert lines[head : head + len(table)] == table
    assert all(f"({group.threads} clients)" in " ".join(lines) for group in of.groups)


BIG_SERVER = (
    '"Perf regressions in MySQL/InnoDB, a big server & sysbench"',
    '"Perf regressions in MySQL/InnoDB, a big server & sysbench, part 2"',
)
STEP_NAME = re.compile(r"\b[a-z]+(?:-[a-z]+)*(?:\.pre)?_range=\d+")


def test_the_suite_of_2023_has_the_steps_that_callaghans_articles_name() -> None:
    named = {
        name for source in BIG_SERVER for name in STEP_NAME.findall("\n".join(article(source)))
    }
    assert len(named) >= 5
    assert named <= set(suites.load("sysbench:micro-2023").measured())


def test_callaghans_configs_are_for_the_versions_that_he_tested() -> None:
    (told,) = (line for line in article(BIG_SERVER[0]) if line.startswith("I tested MySQL"))
    versions = re.compile(r"\d+\.\d+\.\d+")
    ours = [versions.findall(load_config(name).versions) for name in CALLAGHANS_CONFIGS]
    assert sorted(each for config in ours for each in config) == sorted(set(versions.findall(told)))


def test_callaghans_build_times_are_those_of_his_table() -> None:
    of = load_publication("callaghan-build-times")
    rows = [line.split(maxsplit=2) for line in article(of.source)]
    seconds = {row[2]: float(row[0]) for row in rows if len(row) == 3 and row[0].isdigit()}
    assert of.build_seconds == {
        "postgresql": seconds["Postgres"],
        "mysql": seconds["upstream MySQL"],
        "myrocks": seconds["FB MySQL"],
    }


def test_all_publications_are_compared_with_their_articles() -> None:
    compared = {"hiroi10-pgo", "jiang-pgo", "callaghan-build-times", *CALLAGHANS_SUMMARIES}
    assert compared == set(publication_names())


# The settings in each article, and what a config has besides, of which its reason tells.
LISTS = {
    "hiroi10-8.0": re.compile(r"^\[mysqld\]\n(.+)", re.MULTILINE | re.DOTALL),
    "hiroi10-10.1": re.compile(
        r"^最後に主要な設定を載せておきます。\n(.+)", re.MULTILINE | re.DOTALL
    ),
    "kinoshita": re.compile(r"((?:^--.+\n)+)", re.MULTILINE),
}
ADDED = {
    "hiroi10-8.0": set[str](),
    "hiroi10-10.1": {"server_id"},
    "kinoshita": {"innodb_log_files_in_group"},
}
SETTING = re.compile(r"([a-z][\w-]*)(?:[ ]*=[ ]*('[^']*'|\S+(?: / \S+)*))?")
SHARE = re.compile(r"([\d.]+)% of cache\b.*")
POOL = "innodb_buffer_pool_size"


def authors_settings(name: str) -> dict[str, list[str]]:
    """Return the author's settings, each with the values between which it was varied."""
    text = "\n".join(article(load_config(name).source))
    found = LISTS[name].search(text)
    assert found is not None
    return {
        re.sub(r"^loose_", "", setting.replace("-", "_")): (value.strip("'") or "ON").split(" / ")
        for setting, value in SETTING.findall(found[1])
    }


def is_the_same(value: str, authors: str) -> bool:
    return value == authors or {value, authors} in ({"ON", "1"}, {"OFF", "0"})


def check_share(share: float, setting: ConfigSetting, value: str, pool: str) -> None:
    """Assert that a share of the cache is the author's, whose size the reason names."""
    assert share / 100 == parse_size(value) / parse_size(pool)
    assert re.match(rf"{value}\b", setting.why)


def check_setting(setting: ConfigSetting, values: list[str], pool: str) -> None:
    if share := SHARE.fullmatch(setting.value):
        (value,) = values
        check_share(float(share[1]), setting, value, pool)
        return
    assert any(is_the_same(setting.value, value) for value in values)
    if len(values) > 1:
        varied = f"{', '.join(values[:-1])} or {values[-1]}"
        assert setting.why.startswith(f"{varied}: the author varied it")


def unsaid(name: str, config: NamedConfig) -> set[str]:
    """Return which settings a config has, or leaves out, that the author has not, and others."""
    has = {*config.settings, *config.left_out} - ADDED[name]
    return has ^ authors_settings(name).keys()


def test_the_experiment_of_2015_varies_what_the_author_varied() -> None:
    experiment = load_shipped("hiroi10-2015")
    authors, config = authors_settings("hiroi10-10.1"), load_config("hiroi10-10.1")
    varied = set()
    for subject in experiment.subjects:
        own = {each.name: each.value for each in subject.settings}
        varied.add(own.pop("innodb_io_capacity"))
        assert own.pop("innodb_io_capacity_max") == authors["innodb_io_capacity_max"][-1]
        assert own.keys() | {"innodb_io_capacity", "innodb_io_capacity_max"} == set(config.settings)
    assert varied == set(authors["innodb_io_capacity"])


def test_the_suite_of_2015_reads_the_columns_that_the_author_quotes() -> None:
    text = "\n".join(article(load_config("hiroi10-10.1").source))
    quoted = re.findall(r'"SELECT (\w+) FROM', text)
    suite = suites.load("hiroi10-2015")
    select = suite.sets["select"]
    assert isinstance(select, suites.ServerSet)
    assert quoted == [select.driver_keys["options"]["columns"], "c"]
    assert f"{POOL} = {suite.server_sizes['full'].cache[suites.Regime.CACHED] >> 30}G" in text


@pytest.mark.parametrize("name", LISTS)
class TestConfig:
    def test_it_has_the_author_s_settings_and_no_others(self, name: str) -> None:
        config = load_config(name)
        assert unsaid(name, config) == set()
        assert all(config.settings[added].why for added in ADDED[name])

    def test_its_values_are_the_author_s(self, name: str) -> None:
        authors = authors_settings(name)
        (pool,) = authors[POOL]
        for setting, own in load_config(name).settings.items():
            if setting not in ADDED[name]:
                check_setting(own, authors[setting], pool)


def test_all_configs_are_compared_with_their_articles() -> None:
    assert {*LISTS, *CALLAGHANS_CONFIGS} == set(config_names())
