"""Base64 in its one proper form.

Owns: telling proper texts from others. Never: what the bytes mean.
"""

import base64
import binascii


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of a base64 text in its one proper form, None for any other text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    # Bits behind the last byte must be zero, which Python's decoder does not check.
    return data if base64.b64encode(data).decode() == text else None
