"""Every exception that Clarion raises on purpose. Imports nothing.

    ClarionError
    ├── ConfigError            an option, a file or the machine is not as it must be: one line, status 1
    │   └── RebuildNeeded      the stored chain can't be used without a rebuild
    ├── DecodeError            bytes or text that are not what they claim to be
    │   └── EndOfData          the bytes end too early
    ├── InvalidData            data that breaks a rule; `reject_reason` and `debug` as the reference words them
    │   ├── BlockInvalid       the only error that may mark a block invalid
    │   └── TxInvalid
    ├── SnapshotError          a file of unspent outputs, or the chain's state, does not allow to start from it
    ├── PeerError              a peer broke the protocol
    ├── StorageError           database or files: ours, never the data's fault
    │   └── BlockFileError     raw block or undo data that is missing or damaged
    ├── DeliveryError          a notifier could not deliver
    ├── StreamError            a subscriber can't be served from where he asked, with a code that he can act on
    ├── PluginError            a plugin misbehaved
    └── RpcError               an answer to a client, with the reference's code

A broken invariant is an `AssertionError` and stops the node.
"""


class ClarionError(Exception):
    """Base of every error that Clarion raises on purpose."""


class ConfigError(ClarionError):
    """An option, a configuration file or the machine's state does not allow the node to start."""


class RebuildNeeded(ConfigError):
    """The stored chain can't be used as it is. Shown without `Error: `: the reference's text is a question there."""


class DecodeError(ClarionError):
    """Bytes or text can't be decoded. The message names what was expected and where it broke."""


class EndOfData(DecodeError):
    """The bytes end before what they hold is complete."""


class InvalidData(ClarionError):
    """Data that breaks a consensus or policy rule.

    `reject_reason` is the reference's stable string (`bad-txnmrklroot`); `debug` adds detail for logs.
    `str()` is what the reference shows: the reason, then `, debug` where there is one.
    """

    def __init__(self, reject_reason: str, debug: str = "") -> None:
        super().__init__(reject_reason, debug)
        self.reject_reason = reject_reason
        self.debug = debug

    def __str__(self) -> str:
        return f"{self.reject_reason}, {self.debug}" if self.debug else self.reject_reason


class BlockInvalid(InvalidData):
    """A block or header breaks a rule.

    `mutated`: the bytes are wrong but the header's hash may still belong to a valid block, so the hash must not be
    remembered as invalid. `missing_parent`: the header can't be judged yet. `time_future`: it may become valid later.
    """

    def __init__(
        self,
        reject_reason: str,
        debug: str = "",
        *,
        mutated: bool = False,
        missing_parent: bool = False,
        time_future: bool = False,
    ) -> None:
        super().__init__(reject_reason, debug)
        self.mutated = mutated
        self.missing_parent = missing_parent
        self.time_future = time_future

    @property
    def permanent(self) -> bool:
        """Whether the block's hash may be remembered as invalid for good."""
        return not (self.mutated or self.missing_parent or self.time_future)


class TxInvalid(InvalidData):
    """A transaction breaks a consensus rule or, in the mempool, policy."""


class SnapshotError(ClarionError):
    """A snapshot of all unspent outputs can't be used: the file, or what the node knows, is not as it must be."""


class PeerError(ClarionError):
    """A peer broke the protocol."""


class StorageError(ClarionError):
    """The database or a file refused to do its work. Never the data's fault."""


class BlockFileError(StorageError):
    """Raw block or undo data is missing, torn or damaged."""


class DeliveryError(ClarionError):
    """A notifier could not deliver.

    `sent`: how many of the messages at hand were confirmed before it failed. `retry_after_s`: the least pause that the
    receiver asks for. `permanent`: the first message that was not confirmed will be refused for ever. `ends_lane`: the
    receiver wants nothing more.
    """

    def __init__(
        self,
        message: str,
        *,
        sent: int = 0,
        retry_after_s: float | None = None,
        permanent: bool = False,
        ends_lane: bool = False,
    ) -> None:
        super().__init__(message)
        self.sent = sent
        self.retry_after_s = retry_after_s
        self.permanent = permanent
        self.ends_lane = ends_lane


class StreamError(ClarionError):
    """A stream of events can't start where a subscriber asked for it, or can't go on.

    `code` is a stable word (`other-log`, `pruned`, …) that docs/events.md lists; `details` are values that help to go on.
    """

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.details = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class PluginError(ClarionError):
    """A plugin misbehaved: it raised, or names a hook that does not exist."""


class RpcError(ClarionError):
    """An error answer to a JSON-RPC client.

    `code` is one of the reference's numbers (`RPC_INVALID_PARAMETER` = -8, …), `message` is shown as it is.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


def text_for_clients(error: Exception) -> str:
    """Return what a client is told of a fault that is not its own.

    A failing database is told without a word of its driver: its URL, with the user's name in it, is for the log alone.
    """
    if isinstance(error, RpcError):
        return error.message
    if isinstance(error, StorageError) and not isinstance(error, BlockFileError):
        return "The node's database does not answer, see debug.log"
    return f"{type(error).__name__}: {error}"
