"""Named configs: whole sets of settings that somebody published, with where they come from.

A config is one TOML file below ``configs/``. ``[settings]`` has a value for each setting, or
``{ value = …, why = … }``; sizes that belong to the author's machine are shares of memory or of
the workload's cache. ``[left_out]`` has the author's settings that hone does not set, each with
the reason.
"""

from __future__ import annotations

import tomllib
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dbhone import registry
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.errors import UnknownName

_DRAWER = "dbhone.experiment.configs"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ConfigSetting(_Section):
    """A setting's value, and why it is not simply the author's."""

    value: str
    why: str = ""


def _with_reason(value: object) -> object:
    return {"value": value} if isinstance(value, str) else value


class NamedConfig(_Section):
    """A config's file. ``dbms`` are those that it can be used for, ``versions`` those it is of."""

    title: str = Field(min_length=1)
    author: str = Field(min_length=1)
    source: str = Field(min_length=1)
    machine: str = Field(min_length=1)
    dbms: tuple[str, ...] = Field(min_length=1)
    versions: str = Field(min_length=1)
    settings: dict[str, Annotated[ConfigSetting, BeforeValidator(_with_reason)]]
    left_out: dict[str, str] = {}

    def requested(self) -> tuple[RequestedSetting, ...]:
        """Return the settings that whoever uses the config asks for."""
        return tuple(
            RequestedSetting(name=name, value=setting.value, origin=Origin.CONFIG)
            for name, setting in self.settings.items()
        )


def config_names() -> tuple[str, ...]:
    """Return the names of all configs."""
    return tuple(sorted(registry.toml_files(_DRAWER)))


def load_config(name: str, *, where: str | None = None) -> NamedConfig:
    """Return a config. Raises UnknownName, which says ``where`` it was asked for."""
    files = registry.toml_files(_DRAWER)
    if name not in files:
        raise UnknownName("config", name, config_names(), where=where)
    text = files[name].read_text(encoding="utf-8")
    return NamedConfig.model_validate(tomllib.loads(text))
