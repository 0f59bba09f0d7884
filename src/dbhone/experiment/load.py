"""Reads an experiment file and refuses, before anything starts, what cannot be meant."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dbhone import registry
from dbhone.build.toolchain import check_name
from dbhone.build.variant import Variant, parse_variant
from dbhone.dbms.base import DRAWER as DBMS_DRAWER
from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import ExperimentError, UnknownName, UsageError, nearest
from dbhone.experiment.asked import AskedSettings
from dbhone.experiment.declaration import SECTIONS, ExperimentFile, SubjectSection
from dbhone.experiment.history import check_order
from dbhone.experiment.model import Experiment, SubjectDeclaration, Training
from dbhone.experiment.observing import Observe, check_counters
from dbhone.instance import pulling
from dbhone.measurement.record import READY_MADE, Design, Role
from dbhone.source.fixes import check_word, is_file
from dbhone.source.reference import kind_of, parse_reference
from dbhone.source.versions import PREFIX, KnownVersions, known_versions
from dbhone.workload import suite as suites
from dbhone.workload.suite import Scale

T = TypeVar("T")
W = TypeVar("W")
_SHIPPED = "dbhone.experiment.experiments"
_INHERITED = (
    *("dbms", "source", "variant", "compiler", "train", "settings"),
    *("options", "fixes", "levers"),
)
"""What a subject takes over from the one that it is like."""
_DEFAULT_COMPILER = "gcc"
_DEFAULT_VARIANT = "rel"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


def shipped_names() -> tuple[str, ...]:
    """Return the names of the experiments that ship with hone."""
    files = resources.files(_SHIPPED).iterdir()
    return tuple(sorted(each.name[:-5] for each in files if each.name.endswith(".toml")))


def load_shipped(name: str, versions: KnownVersions | None = None) -> Experiment:
    """Return an experiment that ships with hone. Raises UnknownName if there is none such.

    ``versions`` are those that ``known:`` finds, here and below; None for those that ship.
    """
    if name not in shipped_names():
        raise UnknownName("experiment", name, shipped_names())
    text = resources.files(_SHIPPED).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return parse(text, name=name, versions=versions)


def load_file(path: Path, versions: KnownVersions | None = None) -> Experiment:
    """Return the experiment in a file. Raises ExperimentError naming file and line or key."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ExperimentError(f"{path} is not a text file") from None
    except OSError as error:
        raise ExperimentError(
            f"cannot read {path}: {error.strerror}",
            hint=f"shipped experiments: {', '.join(shipped_names())}",
        ) from error
    return parse(text, name=str(path.absolute()), shown=str(path), versions=versions)


def load_named(word: str, versions: KnownVersions | None = None) -> Experiment:
    """Return the experiment in the file ``word`` or, if there is no such file, the shipped one."""
    path = Path(word)
    if not path.exists() and word in shipped_names():
        return load_shipped(word, versions)
    return load_file(path, versions)


def parse(
    text: str, *, name: str, shown: str | None = None, versions: KnownVersions | None = None
) -> Experiment:
    """Return the experiment that ``text`` declares.

    ``name`` is the absolute path of its file, beside which relative folders are looked for,
    or the name under which it ships; messages call it ``shown``.
    """
    where = _Locator(shown or name, text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{where.name} is not valid TOML: {error}") from None
    try:
        declared = ExperimentFile.model_validate(values)
    except ValidationError as error:
        raise where.refusal(error.errors()[0]) from None
    declared = _with_known(where, declared, versions)
    folder = Path(name).parent if Path(name).is_absolute() else Path()
    experiment = _Resolver(where, text, declared, folder).experiment()
    subjects = tuple(_beside(Path(name), each) for each in experiment.subjects)
    return dataclasses.replace(experiment, name=name, subjects=subjects)


def _with_known(
    where: _Locator, declared: ExperimentFile, versions: KnownVersions | None
) -> ExperimentFile:
    """Return the file with what its ``known:`` sources stand for."""
    meant = {}
    for name, reference in declared.sources.items():
        if reference.startswith(PREFIX):
            versions = versions or known_versions()
            try:
                meant[name] = versions.meaning(reference)
            except UsageError as error:
                message = f"{where.at('sources', name)}: {error.message}"
                raise ExperimentError(message, hint=error.hint) from None
    return declared.model_copy(update={"sources": declared.sources | meant})


def _beside(file: Path, subject: SubjectDeclaration) -> SubjectDeclaration:
    """Return the subject with patches and the folder of a ``dir:`` looked for beside the file."""
    if not file.is_absolute():
        return subject
    subject = dataclasses.replace(
        subject,
        fixes=tuple(
            str(file.parent / Path(each).expanduser()) if is_file(each) else each
            for each in subject.fixes
        ),
    )
    kind, _, location = subject.source.partition(":")
    if kind != "dir":
        return subject
    return dataclasses.replace(subject, source=f"dir:{file.parent / Path(location).expanduser()}")


class _Locator:
    """Says where in a file something stands."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def at(self, *keys: str) -> str:
        """Return ``FILE:LINE: key.path``; the line only when the key stands on just one."""
        word = re.escape(keys[-1])
        pattern = re.compile(rf"^\s*\[.*\b{word}\s*\]|(?:^|[{{,])\s*\"?{word}\"?\s*=", re.MULTILINE)
        found = [match.end() for match in pattern.finditer(self.text)]
        line = f":{self.text.count(chr(10), 0, found[0]) + 1}" if len(found) == 1 else ""
        return f"{self.name}{line}: {'.'.join(keys)}"

    def refusal(self, error: ErrorDetails) -> ExperimentError:
        """Return one of pydantic's findings in our words."""
        keys = tuple(str(part) for part in error["loc"])
        where = self.at(*keys) if keys else self.name
        if error["type"] == "extra_forbidden":
            known = _known_keys(keys)
            return ExperimentError(f"{where}: there is no such key", hint=nearest(keys[-1], known))
        if error["type"] == "missing":
            return ExperimentError(f"{self.name}: '{'.'.join(keys)}' is missing")
        message = error["msg"].removeprefix("Value error, ")
        return ExperimentError(f"{where}: {message[0].lower()}{message[1:]}")


def _known_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    sections = [part for part in keys[:-1] if part in SECTIONS]
    return tuple(SECTIONS[sections[-1] if sections else ""].model_fields)


class _Resolver:
    """Fills in what a declaration leaves out and checks what its words mean."""

    def __init__(self, where: _Locator, text: str, declared: ExperimentFile, folder: Path) -> None:
        self.name = where.name
        self.text = text
        self.declared = declared
        self.where = where
        self.asked = AskedSettings(declared.config, folder, where.at)

    def experiment(self) -> Experiment:
        """Return the experiment, or raise ExperimentError or UnknownName."""
        self._check_names()
        suite = self._suite()
        size = self.declared.workload.size
        if size not in suite.sizes():
            raise UnknownName("size", size, suite.sizes(), where=self.where.at("workload", "size"))
        asked = self.declared.workload.sets
        sets = None if asked is None else self._full_names(suite, asked, "workload", "sets")
        subjects = _with_controls(tuple(self._subject(name) for name in self.declared.subjects))
        self._check_subjects(suite, subjects)
        if self.declared.history is not None:
            check_order(self.declared.history.order, subjects, self.where.at("history", "order"))
        return Experiment(
            name=self.name,
            text=self.text,
            title=self.declared.title,
            subjects=subjects,
            suite=self.declared.workload.suite,
            scale=self._scale(suite),
            sets=sets,
            design=self._design(),
            drop_unknown=self.declared.config.drop_unknown,
            awake=self.declared.design.awake,
            observe=self._observe(suite, subjects),
        )

    def _scale(self, suite: suites.Suite) -> Scale:
        """Return the scale; what only a server's suite understands is refused for others."""
        workload = self.declared.workload
        said = workload.model_fields_set & {
            *("threads", "regime", "tables", "rows", "seconds", "cache")
        }
        if said and not suite.server_sizes:
            key = min(said)
            raise ExperimentError(
                f"{self.where.at('workload', key)}: the suite {workload.suite} has no '{key}'",
                hint="it is for suites that drive a server",
            )
        fixed = said & {"threads", "tables", "seconds"}
        if fixed and suite.runs_to_the_end:
            key = min(fixed)
            raise ExperimentError(
                f"{self.where.at('workload', key)}: the suite {workload.suite} has no '{key}': it"
                " runs one statement to its end",
                hint="'rows' says how much there is to do",
            )
        if workload.seconds is not None and workload.seconds != int(workload.seconds):
            raise ExperimentError(
                f"{self.where.at('workload', 'seconds')}: the driver takes whole seconds only"
            )
        if workload.threads and len(set(workload.threads)) < len(workload.threads):
            raise ExperimentError(
                f"{self.where.at('workload', 'threads')}: a number of threads is named twice"
            )
        return Scale(
            size=workload.size,
            regime=workload.regime,
            threads=workload.threads,
            tables=workload.tables,
            rows=workload.rows,
            seconds=workload.seconds,
            cache_bytes=workload.cache,
        )

    def _observe(self, suite: suites.Suite, subjects: tuple[SubjectDeclaration, ...]) -> Observe:
        """Return what is observed; counters that no server has by the DBMS alone are refused."""
        section = self.declared.observe
        if section.model_fields_set and not suite.server_sizes:
            raise ExperimentError(
                f"{self.where.at('observe')}: the suite {self.declared.workload.suite} drives no"
                " server, and only servers are observed"
            )
        systems = (self._dbms(each.dbms) for each in subjects)
        servers = [each for each in systems if isinstance(each, ServerDbms)]
        check_counters(section.counters, servers, where=self.where.at("observe", "counters"))
        return Observe(
            enabled=section.enabled, every=section.every, counters=tuple(section.counters)
        )

    def _check_names(self) -> None:
        names = self.declared.subjects
        for name in names:
            if not _NAME.fullmatch(name):
                raise ExperimentError(
                    f"{self.name}: '{name}' cannot be a subject's name",
                    hint="use up to 40 letters, digits, '.', '_', '+' and '-'",
                )
        if self.declared.base not in names:
            raise UnknownName("subject", self.declared.base, names, where=self.where.at("base"))
        for name, reference in self.declared.sources.items():
            self._meant(parse_reference, reference, "sources", name)

    def _meant(self, parse: Callable[[W], T], text: W, *keys: str) -> T:
        """Parse a word, or words; say where in the file a complaint belongs."""
        try:
            return parse(text)
        except UsageError as error:
            message = f"{self.where.at(*keys)}: {error.message}"
            raise ExperimentError(message, hint=error.hint) from None

    def _suite(self) -> suites.Suite:
        name = self.declared.workload.suite
        if name not in suites.names():
            raise UnknownName("suite", name, suites.names(), where=self.where.at("suite"))
        return suites.load(name)

    def _full_names(
        self, suite: suites.Suite, words: tuple[str, ...], *keys: str
    ) -> tuple[str, ...]:
        return suites.full_names(suite, words, where=self.where.at(*keys))

    def _merged(self, name: str, seen: tuple[str, ...] = ()) -> SubjectSection:
        """Return the subject's section with what it takes over from the one it is like."""
        section = self.declared.subjects[name]
        if section.like is None:
            return section
        if section.like in (*seen, name):
            raise ExperimentError(f"{self.where.at('subjects', name)}: 'like' goes in a circle")
        if section.like not in self.declared.subjects:
            raise UnknownName(
                "subject",
                section.like,
                self.declared.subjects,
                where=self.where.at("subjects", name),
            )
        model = self._merged(section.like, (*seen, name))
        inherited = {key: getattr(model, key) for key in _INHERITED}
        own = {key: getattr(section, key) for key in section.model_fields_set}
        return SubjectSection(**(inherited | own))

    def _subject(self, name: str) -> SubjectDeclaration:
        section = self._merged(name)
        dbms = self._required(name, "dbms", section.dbms)
        source = self._required(name, "source", section.source)
        compiler = section.compiler or _DEFAULT_COMPILER
        if source not in self.declared.sources:
            raise UnknownName(
                "source", source, self.declared.sources, where=self.where.at("subjects", name)
            )
        known = registry.names(DBMS_DRAWER)
        if dbms not in known:
            raise UnknownName("DBMS", dbms, known, where=self.where.at("subjects", name))
        reference = self.declared.sources[source]
        variant = self._variant(name, section, reference)
        if not variant.ready_made:
            self._meant(check_name, compiler, "subjects", name)
        return SubjectDeclaration(
            name=name,
            role=Role.BASE if name == self.declared.base else Role.CANDIDATE,
            dbms=dbms,
            source=reference,
            variant=variant,
            compiler=variant.name if variant.ready_made else compiler,
            training=self._training(name, section, variant),
            copy_number=1 if section.rebuild else 0,
            optional=section.optional,
            options=self._options(name, dbms, section),
            levers=self._levers(name, dbms, section),
            settings=self.asked.of(name, self._dbms(dbms), section.settings),
            fixes=tuple(
                self._meant(check_word, each, "subjects", name) for each in section.fixes or ()
            ),
        )

    def _variant(self, name: str, section: SubjectSection, reference: str) -> Variant:
        """Return the variant; programs that somebody else has built have one only."""
        brings_programs = kind_of(parse_reference(reference).kind).ready_made
        default = READY_MADE if brings_programs else _DEFAULT_VARIANT
        variant = self._meant(parse_variant, section.variant or default, "subjects", name)
        where = self.where.at("subjects", name)
        if brings_programs and not variant.ready_made:
            raise ExperimentError(
                f"{where}: {reference} brings a ready-made server, which cannot be built as"
                f" {variant.name}",
                hint="leave 'variant' out, or name a source that brings the server's source",
            )
        if not variant.ready_made:
            return variant
        for key in ("compiler", "rebuild", "options", "fixes"):
            if getattr(section, key):
                raise ExperimentError(
                    f"{where}: '{key}' means nothing: a ready-made server is not built"
                )
        return variant

    def _options(self, name: str, dbms: str, section: SubjectSection) -> tuple[str, ...]:
        """Return the build options of a subject. What they mean, the recipe knows."""
        if section.options and not self._dbms(dbms).takes_options:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: {dbms} is built without options of yours",
                hint="leave 'options' out",
            )
        return section.options or ()

    def _levers(self, name: str, dbms: str, section: SubjectSection) -> tuple[str, ...]:
        """Return the levers of a subject; whether this machine has them is asked when it runs."""
        if section.levers and not isinstance(self._dbms(dbms), ServerDbms):
            where = self.where.at("subjects", name)
            raise ExperimentError(f"{where}: {dbms} is no server and has no levers")
        return self._meant(pulling.canonical, section.levers, "subjects", name)

    def _dbms(self, name: str) -> Dbms:
        return registry.load(DBMS_DRAWER, name, Dbms, what="DBMS")

    def _required(self, name: str, key: str, value: str | None) -> str:
        if value is None:
            raise ExperimentError(f"{self.where.at('subjects', name)}: '{key}' is missing")
        return value

    def _training(self, name: str, section: SubjectSection, variant: Variant) -> Training | None:
        own = "train" in self.declared.subjects[name].model_fields_set
        if not variant.profile_guided:
            if own:
                raise ExperimentError(
                    f"{self.where.at('subjects', name)}: the variant {variant.name} takes no"
                    " training",
                    hint="add pgo to the variant, or leave 'train' out",
                )
            return None
        general = self.declared.training
        sets = section.train or (general.sets if general else ())
        if not sets:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: the variant {variant.name} is profile-guided"
                " and must be trained",
                hint='add [training] with sets = ["main"], or train = ["main"] to the subject',
            )
        size = general.size if general and general.size else self.declared.workload.size
        suite = self._suite()
        if not suite.trains:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: nothing can be trained on the suite"
                f" {self.declared.workload.suite}",
                hint="take a variant without pgo",
            )
        names = self._full_names(suite, tuple(sets), "subjects", name)
        shares = self._shares(suite)
        return Training(
            sets=names,
            size=size,
            shares=tuple(shares.get(each, 1.0) for each in names) if shares else (),
        )

    def _shares(self, suite: suites.Suite) -> dict[str, float]:
        """Return the shares of the training by the full names of its sets."""
        general = self.declared.training
        if general is None or not general.shares:
            return {}
        where = self.where.at("training", "shares")
        if not suite.server_sizes:
            raise ExperimentError(
                f"{where}: {self.declared.workload.suite} runs each set once: its time cannot be"
                " shared out"
            )
        trained = suites.full_names(suite, general.sets)
        shared = suites.full_names(suite, tuple(general.shares), where=where)
        for word, each in zip(general.shares, shared, strict=True):
            if each not in trained:
                raise UnknownName("set of the training", word, general.sets, where=where)
        return dict(zip(shared, general.shares.values(), strict=True))

    def _check_subjects(
        self, suite: suites.Suite, subjects: tuple[SubjectDeclaration, ...]
    ) -> None:
        base = next(each for each in subjects if each.role is Role.BASE)
        if base.optional:
            raise ExperimentError(f"{self.name}: the base cannot be optional")
        for each in subjects:
            if each.dbms not in suite.dbms:
                raise ExperimentError(
                    f"{self.name}: the suite {self.declared.workload.suite} cannot drive"
                    f" {each.dbms}",
                    hint=f"it drives: {', '.join(suite.dbms)};"
                    f" what drives {each.dbms}: {', '.join(suites.for_dbms(each.dbms))}",
                )
            if each.training is None:
                continue
            if each.training.size not in suite.sizes():
                raise UnknownName(
                    "size",
                    each.training.size,
                    suite.sizes(),
                    where=self.where.at("training", "size"),
                )

    def _design(self) -> Design:
        design = self.declared.design
        if design.blocks.max < design.blocks.min:
            raise ExperimentError(
                f"{self.where.at('design', 'blocks')}: max ({design.blocks.max}) is less than"
                f" min ({design.blocks.min})"
            )
        return Design(
            seed=design.seed,
            target=design.target,
            budget_seconds=design.budget,
            min_blocks=design.blocks.min,
            max_blocks=design.blocks.max,
        )


def _with_controls(subjects: tuple[SubjectDeclaration, ...]) -> tuple[SubjectDeclaration, ...]:
    """Give the role of control to whatever is declared just as the base is."""
    base = next(each for each in subjects if each.role is Role.BASE)
    return tuple(
        dataclasses.replace(each, role=Role.CONTROL)
        if each is not base and _recipe(each) == _recipe(base)
        else each
        for each in subjects
    )


def _recipe(each: SubjectDeclaration) -> tuple[object, ...]:
    return (
        each.dbms,
        each.source,
        each.variant.name,
        each.compiler,
        each.training,
        each.settings,
        each.options,
        each.levers,
        each.fixes,
    )
