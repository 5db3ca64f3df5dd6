"""Checks of an installed package: it has all its files, shows its version, and estimates an effect."""

import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import dcd

COMPILED = {".c", ".h", ".so", ".dylib", ".dll"}
SOURCE = Path(__file__).parent.parent / "src" / "dcd"
COMMANDS = (
    "--version",
    "simulate --variables 5 --rows 300 --seed 0 --out table.csv --truth truth.csv",
    "audit table.csv",
    "discover table.csv --json result.json --report report.html",
    "effect table.csv --of x1 --on x2 --graph truth.csv",
    "falsify truth.csv table.csv --report falsify.html",
    "report result.json --out again.html",
)


def files_of(folder: Path) -> set[str]:
    """All files except those that Python leaves beside the code, and both sides of what is compiled."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in COMPILED
    }


def main() -> None:
    """Run the command as a new user would, outside the repository."""
    installed = Path(dcd.__file__).parent
    assert "site-packages" in installed.parts, installed
    assert files_of(installed) == files_of(SOURCE), files_of(installed) ^ files_of(SOURCE)
    assert len(list(installed.glob("search/native/_search.*"))) == 1
    assert len(dcd.datasets.load_sachs().frame) == 853
    command = shutil.which("dcd", path=sysconfig.get_path("scripts"))
    assert command is not None
    with tempfile.TemporaryDirectory() as folder:
        for arguments in COMMANDS:
            print("$ dcd", arguments, flush=True)
            subprocess.run([command, *arguments.split()], cwd=folder, check=True)
        for page in ("report.html", "falsify.html", "again.html"):
            assert (Path(folder) / page).stat().st_size > 10_000, page


if __name__ == "__main__":
    main()
