"""What we call ourselves (BIP14).

Owns: the version of the reference that we are compatible with, and the user agent. Never: sending it.
"""

from collections.abc import Sequence

from clarion import __version__

CORE_VERSION = 310000
"""Version of Bitcoin Core that the answers are compatible with; clients switch features by this number."""

MAX_USER_AGENT = 256
"""Peers take no more characters."""


def user_agent(comments: Sequence[str] = ()) -> str:
    """Return the user agent; clients parse the version between the colon and the bracket.

    The operator's comments have brackets of their own: tools that are made for the reference look for them there.
    """
    own = f"({'; '.join(comments)})" if comments else ""
    return f"/Satoshi:31.0.0(Clarion:{__version__}){own}/"
