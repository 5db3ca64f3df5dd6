"""A table in a file, and a command run in this process."""

from types import SimpleNamespace

import pytest
from support.commands import chain

from dcd.cli import dcd as group
from dcd.cli.running import run


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
