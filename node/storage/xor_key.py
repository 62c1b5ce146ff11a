"""The key that the reference's block files are obfuscated with since its version 28 (`xor.dat`).

Owns: reading the key and applying it. Never: making one; a folder without the file is plain.
"""

from pathlib import Path

from clarion.node.errors import BlockFileError

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


def apply_xor(data: bytes, key: bytes | None, offset: int) -> bytes:
    """Return `data`, which lies at `offset` of its file, with the key applied; doing it twice gives it back."""
    if key is None or not data:
        return data
    start = offset % KEY_SIZE
    stream = (key * (len(data) // KEY_SIZE + 2))[start : start + len(data)]
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")
