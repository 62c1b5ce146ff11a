"""The operator's commands: -alertnotify, -blocknotify, -startupnotify, -shutdownnotify.

Owns: what is put into a command, and running it. Never: when something is worth a command. The node waits for none of
them but those of -shutdownnotify.
"""

import logging
import queue
import string
import subprocess
import threading
from collections.abc import Iterable

from clarion.node.primitives.ids import BlockHash, hash_to_hex

logger = logging.getLogger(__name__)

SAFE_CHARACTERS = frozenset(string.ascii_letters + string.digits + " .,;-_/:?@()")
"""What remains of a warning's text in a command: nothing that a shell would understand."""


def alert_command(command: str, message: str) -> str:
    """Return -alertnotify's command with `message` for `%s`, stripped of unsafe characters and in single quotes."""
    safe = "".join(each for each in message if each in SAFE_CHARACTERS)
    return command.replace("%s", f"'{safe}'")


def block_command(command: str, block_hash: BlockHash) -> str:
    """Return -blocknotify's command with the block's hash, as it is shown, for `%s`."""
    return command.replace("%s", hash_to_hex(block_hash))


def start_command(command: str) -> None:
    """Have a shell run `command` and return at once; an empty one is none."""
    if command:
        _thread(command).start()


class CommandLane:
    """Runs commands one at a time, in the order in which they came; `start` returns at once. One lane for each option.

    The reference runs as many at a time as there are, in any order: whoever follows the chain by them is told of an older
    tip last. A command that hangs holds up those behind it, as a lane of the event stream is held up by its receiver.
    """

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, command: str) -> None:
        """Have a shell run `command` behind those that wait; an empty one is none."""
        if not command:
            return
        self._waiting.put(command)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="commands", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                _run(self._waiting.get())
            except Exception:
                logger.exception("a command can't be run")


def run_commands(commands: Iterable[str]) -> None:
    """Run all commands at the same time and return when the last has ended."""
    threads = [_thread(command) for command in commands if command]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _thread(command: str) -> threading.Thread:
    # A daemon: a command that hangs must not keep a node from ending.
    return threading.Thread(target=_run, args=(command,), name="command", daemon=True)


def _run(command: str) -> None:
    status = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        logger.warning("runCommand error: system(%s) returned %d", command, status)
