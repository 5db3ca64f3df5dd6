"""Builds the compiled part of the search into a shared library; hatchling calls this for a wheel.

The library, `_search.so` beside its sources, does not depend on the version of Python: a platform needs one
wheel.

Compilers are gcc, clang and zig: `$CC`, else the first of cc, gcc and clang that works, else the one in the
package ziglang on PyPI, which is then fetched for the build. `DCD_TARGET=x86_64-windows` builds for that
platform instead, with ziglang; `TARGETS` lists the others.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

SOURCES = "src/dcd/search/native"
ZIGLANG = "ziglang==0.17.0"  # as tried; the command line of zig is not stable yet
# Products are rounded before they are added (no contraction), as on processors without a joint instruction.
FLAGS = (
    "-std=c11",
    "-O3",
    "-shared",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
)
REMEDY = """\
A C compiler is needed: gcc, clang or zig, not cl of Visual Studio. Set CC to one that works. Where there is
none, pip fetches ziglang; to use that one anyway, set DCD_TARGET to your platform:
{}."""


class Platform(NamedTuple):
    """Where a library is to run."""

    tag: str
    """The last part of the name of a wheel."""
    suffix: str = ".so"
    target: str = ""
    """The name for zig; empty for this machine."""


# Linux: with glibc 2.17 (2014) or newer; macOS: 11 (2020) or newer.
TARGETS = {
    "x86_64-linux": Platform("manylinux_2_17_x86_64", target="x86_64-linux-gnu.2.17"),
    "aarch64-linux": Platform("manylinux_2_17_aarch64", target="aarch64-linux-gnu.2.17"),
    "x86_64-macos": Platform("macosx_11_0_x86_64", ".dylib", "x86_64-macos.11.0"),
    "aarch64-macos": Platform("macosx_11_0_arm64", ".dylib", "aarch64-macos.11.0"),
    "x86_64-windows": Platform("win_amd64", ".dll", "x86_64-windows-gnu"),
}


def platform() -> Platform:
    """The platform that `DCD_TARGET` names, or this machine."""
    name = os.environ.get("DCD_TARGET")
    if not name:
        suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
        # A library built here may need the C library of this machine: it is not one for all of Linux.
        own = next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
        return Platform(own, suffix)
    if name not in TARGETS:
        raise ValueError(f"DCD_TARGET is {name!r}; it can be {', '.join(TARGETS)}")
    return TARGETS[name]


def find_compiler() -> list[str] | None:
    """`$CC`, else the first of cc, gcc and clang that works here; None if there is none."""
    if given := os.environ.get("CC", "").strip():
        return [given] if shutil.which(given) else shlex.split(given)  # a path with spaces; a command
    found = ([path] for name in ("cc", "gcc", "clang") if (path := shutil.which(name)))
    return next((command for command in found if works(command)), None)


def works(compiler: list[str]) -> bool:
    """Whether a compiler builds a library. Some lack headers; cc of macOS may only offer to install one."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <math.h>\ndouble probe(double x) { return exp(x); }\n", encoding="utf-8")
        try:
            build([source], Path(folder, "probe"), compiler, platform())
        except RuntimeError:
            return False
    return True


def build(sources: list[Path], library: Path, compiler: list[str] | None, where: Platform) -> None:
    """Compile and link; without a compiler, that of ziglang."""
    flags = list(FLAGS)
    libraries = []
    if where.suffix != ".dll":  # Windows has no such flag and no such library
        flags.append("-fPIC")
        libraries.append("-lm")
    if compiler is None:
        compiler = [sys.executable, "-m", "ziglang", "cc"]
        # Zig would build for the processor at hand, add what debuggers read, and keep parts of the C library.
        flags += ["-target", where.target] if where.target else ["-mcpu=baseline"]
        flags.append("-g0")
        cache = str(library.parent / "zig")
        caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    else:
        flags += [flag for name in ("CPPFLAGS", "CFLAGS") for flag in shlex.split(os.environ.get(name, ""))]
        libraries += shlex.split(os.environ.get("LDFLAGS", ""))
        caches = {}
    command = [*compiler, *flags, "-o", str(library), *map(str, sources), *libraries]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env={**caches, **os.environ}
        )
        problem = run.stdout + run.stderr if run.returncode else None
    except OSError as error:  # there is no such program
        problem = str(error)
    if problem is not None:
        remedy = REMEDY.format(", ".join(TARGETS))
        raise RuntimeError(
            f"the search of dcd was not compiled.\n\n{shlex.join(command)}\n{problem.strip()}\n\n{remedy}"
        )


class CustomBuildHook(BuildHookInterface[Any]):
    """What hatchling calls."""

    def dependencies(self) -> list[str]:
        """A compiler, where there is none."""
        return [ZIGLANG] if platform().target or find_compiler() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library: into the wheel or, for an editable installation, beside the sources."""
        where = platform()
        name = "_search" + where.suffix
        sources = sorted(Path(self.root, SOURCES).glob("*.c"))
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name, name)
        build(sources, library, None if where.target else find_compiler(), where)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{where.tag}"
        if version == "editable":  # in one step: a running process keeps the library that it has loaded
            copy = shutil.copy(library, Path(self.root, SOURCES, name + ".new"))
            os.replace(copy, Path(self.root, SOURCES, name))
        else:
            build_data["force_include"][str(library)] = f"dcd/search/native/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Clear up once the wheel is written."""
        self.folder.cleanup()
