"""The settings that an experiment asks of servers: named ones, a file's and a subject's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dbhone.dbms.base_server import ServerDbms, server_systems
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.errors import ExperimentError, SettingsError
from dbhone.experiment.declaration.named_configs import load_config
from dbhone.experiment.declaration.schema import ConfigSection, Locator, SubjectSection
from dbhone.files import expanded_path


class RequestedSettings:
    """Reads the settings that ``[config]`` and a subject's own ``settings`` ask for.

    A relative ``file`` is looked for in ``folder``.
    """

    def __init__(self, config: ConfigSection, folder: Path, where: Locator) -> None:
        self._config = config
        self._folder = folder
        self._where = where

    def of(self, subject: str, section: SubjectSection) -> tuple[RequestedSetting, ...]:
        """Return the settings asked of a subject's server; its own go before ``[config]``'s.

        Raises ExperimentError, or UnknownName for a config that does not exist.
        """
        server = server_systems().get(section.dbms)
        if server is not None:
            own = {server.meant(name) for name in section.settings}
            usual = {
                name: value
                for name, value in self._config.set.items()
                if server.meant(name) not in own
            }
            given = (usual | section.settings).items()
            requested = (RequestedSetting(name=name, value=value) for name, value in given)
            return (*self._named(server), *self._from_file(server), *requested)
        if self._config.set or section.settings or self._config.use or self._config.file:
            keys = ("subjects", subject) if section.settings else ("config",)
            where = self._where.at(*keys)
            raise ExperimentError(f"{where}: {section.dbms} is not a server and has no settings")
        return ()

    def _named(self, dbms: ServerDbms) -> tuple[RequestedSetting, ...]:
        name = self._config.use
        if name is None:
            return ()
        where = self._where.at("config", "use")
        config = load_config(name, where=where)
        if dbms.name not in config.dbms:
            raise ExperimentError(
                f"{where}: the config {name} is not for {dbms.name}",
                hint=f"it is for: {', '.join(config.dbms)}",
            )
        return config.requested()

    def _from_file(self, dbms: ServerDbms) -> tuple[RequestedSetting, ...]:
        name = self._config.file
        if name is None:
            return ()
        path = self._folder / expanded_path(name)
        beside = (path.with_name(each) for each in dbms.settings_beside)
        texts = {file: self._text(file) for file in (path, *filter(Path.is_file, beside))}
        requested: dict[str, RequestedSetting] = {}
        for file in [file for file, text in texts.items() if _says_something(text)] or [path]:
            try:
                settings = dbms.read_settings_file(texts[file])
            except SettingsError as error:
                where = self._where_of(file)
                raise ExperimentError(f"{where}, {error.message}", hint=error.hint) from None
            requested |= {setting.name: setting for setting in settings}
        return tuple(requested.values())

    def _text(self, file: Path) -> str:
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ExperimentError(f"{self._where_of(file)} is not a text file in UTF-8") from None
        except OSError as error:
            raise ExperimentError(
                f"{self._where_of(file)} cannot be read: {error.strerror}"
            ) from error

    def _where_of(self, file: Path) -> str:
        return f"{self._where.at('config', 'file')}: {file}"


def _says_something(text: str) -> bool:
    """Return whether a settings file holds more than comments."""
    lines = map(str.strip, text.splitlines())
    return any(line and not line.startswith("#") for line in lines)


def requested_values(
    dbms: ServerDbms, settings: Iterable[RequestedSetting], origins: Iterable[Origin] = Origin
) -> dict[str, str]:
    """Return the values requested of a server, by the names that are meant.

    Those of a later one of the ``origins`` go before those of an earlier one.
    """
    requested = tuple(settings)
    return {
        dbms.meant(setting.name): setting.value
        for origin in origins
        for setting in requested
        if setting.origin is origin
    }
