"""The pages that most tests look at, each made once."""

from __future__ import annotations

import pytest

from dbhone.report.page import Page
from tests.report.sample_history import a_history, history_page
from tests.report.sample_run import a_page
from tests.report.sample_servers import a_server_run, a_sweep_run, server_page


@pytest.fixture(scope="session")
def page() -> Page:
    return a_page()


@pytest.fixture(scope="session")
def server() -> Page:
    return server_page(a_server_run())


@pytest.fixture(scope="session")
def sweep() -> Page:
    return server_page(a_sweep_run())


@pytest.fixture(scope="session")
def history() -> Page:
    return history_page(a_history())
