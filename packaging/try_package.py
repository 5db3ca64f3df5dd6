"""What an installed package has to do: import, say its version, find a graph, write a report."""

import subprocess
import sys
import tempfile
from pathlib import Path

import dcd


def main() -> None:
    """Run the command as a new user would, outside the repository."""
    command = Path(sys.executable).with_name("dcd")
    assert "site-packages" in str(Path(dcd.__file__)), dcd.__file__
    with tempfile.TemporaryDirectory() as folder:
        for arguments in (
            ["--version"],
            ["simulate", "--variables", "5", "--rows", "300", "--seed", "0", "--out", "table.csv"],
            ["discover", "table.csv", "--report", "report.html"],
        ):
            print("$ dcd", *arguments, flush=True)
            subprocess.run([command, *arguments], cwd=folder, check=True)
        assert (Path(folder) / "report.html").stat().st_size > 10_000


if __name__ == "__main__":
    main()
