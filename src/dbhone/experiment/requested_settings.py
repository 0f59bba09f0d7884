"""The settings that an experiment asks of its servers, from all the places that may say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import ServerDbms, server_systems
from dbhone.dbms.base_settings import Wanted
from dbhone.errors import ExperimentError, SettingsError
from dbhone.experiment.named_configs import load_config
from dbhone.experiment.schema import ConfigSection

Where = Callable[..., str]
"""Says where in the experiment file a key stands."""


class AskedSettings:
    """What ``[config]`` and a subject's own ``settings`` ask for.

    A relative ``file`` is looked for in ``folder``.
    """

    def __init__(self, config: ConfigSection, folder: Path, where: Where) -> None:
        self._config = config
        self._folder = folder
        self._where = where

    def of(self, subject: str, dbms: Dbms, own: Mapping[str, str]) -> tuple[Wanted, ...]:
        """Return the settings asked of a subject's server; ``own`` go before ``[config]``'s.

        Raises ExperimentError, or UnknownName for a config that does not exist.
        """
        merged = {**self._config.set, **own}
        server = server_systems().get(dbms.name)
        if server is not None:
            own_settings = (Wanted(name=name, value=value) for name, value in merged.items())
            return (*self._named(server), *self._filed(server), *own_settings)
        if merged or self._config.use or self._config.file:
            where = self._where("subjects", subject) if own else self._where("config")
            raise ExperimentError(f"{where}: {dbms.name} is no server and has no settings")
        return ()

    def _named(self, dbms: ServerDbms) -> tuple[Wanted, ...]:
        name = self._config.use
        if name is None:
            return ()
        where = self._where("config", "use")
        config = load_config(name, where=where)
        if dbms.name not in config.dbms:
            raise ExperimentError(
                f"{where}: the config {name} is not for {dbms.name}",
                hint=f"it is for: {', '.join(config.dbms)}",
            )
        return config.wanted()

    def _filed(self, dbms: ServerDbms) -> tuple[Wanted, ...]:
        name = self._config.file
        if name is None:
            return ()
        path = self._folder / Path(name).expanduser()
        where = f"{self._where('config', 'file')}: {path}"
        try:
            return dbms.read_settings_file(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ExperimentError(f"{where} is not a text file in UTF-8") from None
        except OSError as error:
            raise ExperimentError(f"{where} cannot be read: {error.strerror}") from error
        except SettingsError as error:
            raise ExperimentError(f"{where}, {error.message}", hint=error.hint) from None
