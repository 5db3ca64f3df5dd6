"""A table in a file, a command run in this process, and one process for the methods of all commands."""

from types import SimpleNamespace

import pytest
from support.commands import chain
from support.workers import shared_worker

from dcd.cli import dcd as group
from dcd.cli.running import run
from dcd.evaluation import baselines
from dcd.evaluation.baselines import isolation


@pytest.fixture(scope="module", autouse=True)
def worker():
    with shared_worker(baselines, isolation) as worker:
        yield worker


@pytest.fixture
def data(tmp_path):
    """The path of a CSV file with a table; call it for other tables."""

    def write(frame, name="data.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    write.path = write(chain())
    return write


@pytest.fixture
def call(capsys):
    """Run a command in this process; returns the exit code, standard output and standard error."""

    def call(*arguments):
        code = run(group, [str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return call
