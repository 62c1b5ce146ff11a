"""Compare what the wheel and the sdist carry: every file of the package must be in both, and all that git tracks.

    compare_archives.py dist

Exits 1 and names the files that are missing on one side.
"""

import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = "clarion/"


def wheel_files(wheel: Path) -> set[str]:
    """Return the package's files in a wheel, relative to the package."""
    with zipfile.ZipFile(wheel) as archive:
        return {name.removeprefix(PACKAGE) for name in archive.namelist() if name.startswith(PACKAGE)}


def sdist_files(sdist: Path) -> set[str]:
    """Return the package's files in an sdist, wherever the links of src/clarion made setuptools put them."""
    found = set()
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            name = member.name.partition("/")[2]
            if member.isfile() and name.startswith(f"src/{PACKAGE}"):
                found.add(name.removeprefix(f"src/{PACKAGE}"))
    return found


def source_files(root: Path) -> set[str]:
    """Return the package's files in the source tree, without what running it leaves behind."""
    found = set()
    for folder in ("node", "api", "plugins", "notifiers"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                found.add(path.relative_to(root).as_posix())
    return found | {path.name for path in (root / "src" / "clarion").iterdir() if path.is_file()}


def differences(dist: Path, root: Path) -> list[str]:
    """Return one line for each file that is not in the wheel, the sdist and the source tree alike."""
    sides = {
        "source tree": source_files(root),
        "sdist": sdist_files(next(dist.glob("*.tar.gz"))),
        "wheel": wheel_files(next(dist.glob("*.whl"))),
    }
    every = set().union(*sides.values())
    return [f"{name}: not in the {side}" for side, names in sides.items() for name in sorted(every - names)]


def main() -> int:
    """Compare the archives in the folder that the command line names."""
    dist = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    problems = differences(dist, Path(__file__).resolve().parents[1])
    print("\n".join(problems) or "wheel, sdist and source tree hold the same files")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
