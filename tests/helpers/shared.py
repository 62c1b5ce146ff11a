"""Where the test vectors, recorded blocks and tapes lie.

Owns: finding the folder `../shared` beside the project (or the one that CLARION_SHARED names). Never: reading it.
"""

import os
from pathlib import Path

import pytest

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def shared_root() -> Path:
    """Return the folder of vectors, whether it is there or not."""
    named = os.environ.get("CLARION_SHARED")
    return Path(named) if named else PROJECT_ROOT.parent / "shared"


def have_shared(*parts: str) -> bool:
    """Whether `parts` below the folder of vectors is there: for building a list of cases while tests are collected."""
    return shared_root().joinpath(*parts).exists()


def shared_path(*parts: str) -> Path:
    """Return the path of `parts` below the folder of vectors; skip the running test where it is absent."""
    path = shared_root().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(('shared', *parts))}, which is not here (CLARION_SHARED names its folder)")
    return path
