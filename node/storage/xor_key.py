"""The key that the reference's block files are obfuscated with since its version 28 (`xor.dat`).

Owns: making, reading and applying the key. Never: rewriting files; a folder without the key's file is plain.
"""

import secrets
from pathlib import Path

from clarion.node.errors import BlockFileError, ConfigError

XOR_FILE = "xor.dat"
KEY_SIZE = 8


def read_xor_key(folder: Path) -> bytes | None:
    """Return the folder's 8-byte key, None if there is none or it is all zero. Raises BlockFileError."""
    path = folder / XOR_FILE
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BlockFileError(f"{path}: {error.strerror}") from None
    if len(key) != KEY_SIZE:
        raise BlockFileError(f"{path} has {len(key)} bytes, an obfuscation key has {KEY_SIZE}")
    return key if any(key) else None


def ensure_xor_key(folder: Path, *, wanted: bool | None) -> None:
    """Write the key of a folder that has none: a random one if it is `wanted` and nothing lies there yet, else zeros.

    None wants what is there. Raises ConfigError if the folder has a key and none may be, BlockFileError if the key can't be read or written.
    """
    path = folder / XOR_FILE
    key = read_xor_key(folder)
    if key is not None and wanted is False:
        raise ConfigError(
            "The blocksdir XOR-key can not be disabled when a random key was already stored! "
            f"Stored key: '{key.hex()}', stored path: '{path}'."
        )
    if path.exists():
        return
    is_new = all(entry.name.startswith(".") and entry.is_file() for entry in folder.iterdir())
    try:
        path.write_bytes(secrets.token_bytes(KEY_SIZE) if wanted and is_new else bytes(KEY_SIZE))
    except OSError as error:
        raise BlockFileError(f"{path}: {error.strerror}") from None


def apply_xor(data: bytes, key: bytes | None, offset: int) -> bytes:
    """Return `data`, which lies at `offset` of its file, with the key applied; doing it twice gives it back."""
    if key is None or not data:
        return data
    start = offset % KEY_SIZE
    stream = (key * (len(data) // KEY_SIZE + 2))[start : start + len(data)]
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")
