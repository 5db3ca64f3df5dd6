"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import tomllib
from pathlib import Path


def main() -> None:
    """One line for each dependency of the package itself, and of the extras that the tests need."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    for dependency in project["dependencies"] + extras["parquet"] + extras["plot"]:
        print(dependency.replace(">=", "=="))


if __name__ == "__main__":
    main()
