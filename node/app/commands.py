"""The operator's commands: -alertnotify, -blocknotify, -startupnotify, -shutdownnotify.

Owns: what is put into a command, and running it. Never: when something is worth a command. The node waits for none of
them but those of -shutdownnotify.
"""

import logging
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
