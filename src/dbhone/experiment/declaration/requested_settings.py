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
        beside = [path.with_name(each) for each in dbms.settings_beside]
        holding = [file for file in (path, *beside) if file.is_file() and _has_lines(file)]
        requested: dict[str, RequestedSetting] = {}
        for file in holding or [path]:
            requested |= {setting.name: setting for setting in self._read(dbms, file)}
        return tuple(requested.values())

    def _read(self, dbms: ServerDbms, path: Path) -> tuple[RequestedSetting, ...]:
        where = f"{self._where.at('config', 'file')}: {path}"
        try:
            return dbms.read_settings_file(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ExperimentError(f"{where} is not a text file in UTF-8") from None
        except OSError as error:
            raise ExperimentError(f"{where} cannot be read: {error.strerror}") from error
        except SettingsError as error:
            raise ExperimentError(f"{where}, {error.message}", hint=error.hint) from None


def _has_lines(file: Path) -> bool:
    """Return whether a file holds more than comments, or cannot be read."""
    try:
        lines = map(str.strip, file.read_text(encoding="utf-8").splitlines())
        return any(line and not line.startswith("#") for line in lines)
    except (OSError, UnicodeDecodeError):
        return True


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
