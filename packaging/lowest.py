"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import tomllib
from pathlib import Path


def main() -> None:
    """One line for each dependency of the package itself, and of its plots."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    for dependency in (
        project["project"]["dependencies"] + project["project"]["optional-dependencies"]["plot"]
    ):
        print(dependency.replace(">=", "=="))


if __name__ == "__main__":
    main()
