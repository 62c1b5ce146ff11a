"""`exec:/path/to/program`: a program is run for each message, which it reads from standard input.

Owns: running it, and ending it when it takes too long. Never: a shell, or two runs of one lane at once.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from clarion.node.errors import ConfigError, DeliveryError
from clarion.notifiers.lanes.transport import Message, NotifyUrl, TransportKind

_ERROR_BYTES = 300


class Command:
    """Runs one program. Status 0 means delivered; anything else, or silence for too long, means try again."""

    def __init__(self, words: Sequence[str], timeout_s: float) -> None:
        self._words = list(words)
        self._timeout_s = timeout_s

    def open(self) -> None:
        """Do nothing: each message starts the program anew."""

    def close(self) -> None:
        """Do nothing."""

    def send(self, messages: Sequence[Message]) -> None:
        """Run the program for each message in turn. Raises DeliveryError with how many were taken before."""
        for count, message in enumerate(messages):
            failure = self._run(message)
            if failure:
                raise DeliveryError(failure, sent=count)

    def _run(self, message: Message) -> str:
        """Return what went wrong, nothing if all went well."""
        about = {"CLARION_EVENT_ID": message.id, "CLARION_EVENT_TYPE": message.type, "CLARION_CURSOR": message.cursor}
        try:
            process = subprocess.Popen(
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=os.environ | about,
                start_new_session=True,
            )
        except OSError as error:
            return f"{self._words[0]}: {error.strerror}"
        try:
            _, said = process.communicate(message.body, self._timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"{self._words[0]} did not end within {self._timeout_s:g} s"
        if process.returncode == 0:
            return ""
        text = said[-_ERROR_BYTES:].decode(errors="replace").strip()
        return f"{self._words[0]} ended with status {process.returncode}{': ' if text else ''}{text}"


def _make(url: NotifyUrl) -> Command:
    path = Path(url.path)
    if url.parts.netloc or not path.is_absolute():
        raise ConfigError(f"-notify={url.shown}: exec:/path/to/program expected; it gets no arguments")
    if not os.access(path, os.X_OK) or path.is_dir():
        raise ConfigError(f"-notify={url.shown}: no program that this user may run")
    return Command([str(path)], url.timeout_s)


KIND = TransportKind(("exec",), _make, batch=1)
