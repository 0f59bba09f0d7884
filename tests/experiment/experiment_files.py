"""Experiment files on which many tests work."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dbhone.experiment.declaration.model import Experiment

GOOD = """\
title = "a small comparison"
base = "rel"

[sources]
sqlite = "apt:sqlite3"

[subjects]
rel = { dbms = "sqlite", source = "sqlite" }
control = { like = "rel", rebuild = true }
pgo = { like = "rel", variant = "lto+pgo", compiler = "clang", optional = true }

[training]
sets = ["main"]

[workload]
suite = "speedtest1"
size = "smoke"

[design]
target = "2%"
budget = "1m30s"
seed = 7
blocks = { min = 3, max = 9 }
"""


GOOD_SERVERS = """\
title = "t"
base = "rel"

[sources]
pg = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "pg" }
control = { like = "rel" }
pgo = { like = "rel", variant = "pgo" }
big = { like = "rel", settings = { work_mem = "64MB", jit = true } }

[training]
sets = ["point-query", "update-index"]
shares = { update-index = 3 }

[workload]
suite = "sysbench:micro"
sets = ["update-index", "read-write_range=10"]
size = "smoke"
threads = [1, 4]
regime = "os-cached"
rows = 5000
seconds = "2s"

[config]
set = { shared_buffers = "1GB", work_mem = "4MB" }
"""


EMBEDDED = """\
title = "t"
base = "rel"
[sources]
s = "apt:sqlite3"
[subjects]
rel = { dbms = "sqlite", source = "s" }
o3 = { like = "rel", variant = "o3" }
[workload]
suite = "speedtest1"
"""


CONFIGURED = """\
title = "t"
base = "a"

[sources]
s = "dir:/s"

[subjects]
a = { dbms = "mariadb", source = "s" }
b = { like = "a", settings = { sync_binlog = 0 } }

[workload]
suite = "sysbench:micro"
size = "smoke"

[config]
"""


WITH_BUDGET = f'{EMBEDDED}[design]\nbudget = "8m"\n'


SMOKE = f'{GOOD}\n[verification]\ngrade = "smoke"\n'


def on_data(experiment: Experiment, key: str, path: Path) -> Experiment:
    """Return the experiment on a user's data."""
    scale = dataclasses.replace(experiment.workload.scale, data={key: str(path)})
    workload = dataclasses.replace(experiment.workload, scale=scale)
    return dataclasses.replace(experiment, workload=workload)
