"""From a witness script or a tapscript to the miniscript that it is.

Owns: reading a script backwards, as every fragment can be told by its last opcode. Never: whether the result is sane.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from clarion.node.primitives import opcodes as op
from clarion.node.primitives.miniscript.node import Node, max_script_size
from clarion.node.primitives.miniscript.types import Fragment
from clarion.node.primitives.script import (
    MAX_PUBKEYS_PER_MULTI_A,
    MAX_PUBKEYS_PER_MULTISIG,
    decode_number,
    encode_number,
    is_minimal_push,
    iter_ops,
)

_MAX_NUMBER_SIZE = 4
_MAX_LOCK = 0x7FFFFFFF
_KEY_SIZE, _XONLY_SIZE = 33, 32
_PREIMAGE_SIZE = 32
_SPLIT = {
    op.OP_CHECKSIGVERIFY: op.OP_CHECKSIG,
    op.OP_CHECKMULTISIGVERIFY: op.OP_CHECKMULTISIG,
    op.OP_EQUALVERIFY: op.OP_EQUAL,
    op.OP_NUMEQUALVERIFY: op.OP_NUMEQUAL,
}
_HASHES = {
    op.OP_SHA256: (Fragment.SHA256, 32),
    op.OP_HASH256: (Fragment.HASH256, 32),
    op.OP_RIPEMD160: (Fragment.RIPEMD160, 20),
    op.OP_HASH160: (Fragment.HASH160, 20),
}
_ENDS_NO_FRAGMENT = (op.OP_IF, op.OP_ELSE, op.OP_NOTIF, op.OP_TOALTSTACK, op.OP_SWAP)

KeyOfHash = Callable[[bytes], bytes | None]
"""Returns the public key behind a hash160, None if it is not known."""


class _NoMiniscript(Exception):
    """The script is none. Never leaves this module."""


class _Op(NamedTuple):
    code: int
    data: bytes = b""


def decode_script(script: bytes, key_of_hash: KeyOfHash, *, tapscript: bool = False) -> Node | None:
    """Return the miniscript that a witness script or, with `tapscript`, a leaf is, None if it is none or a key behind a
    hash is not known. Keys of leaves have 32 bytes; those behind hashes are what `key_of_hash` returned.
    """
    if len(script) > max_script_size(tapscript):
        return None
    try:
        node = _Decoder(_decompose(script), key_of_hash, tapscript).run()
    except _NoMiniscript:
        return None
    return node if "B" in node.type else None


def _decompose(script: bytes) -> list[_Op]:
    """Return the script's operations with those that also verify taken apart. Raises _NoMiniscript."""
    found: list[_Op] = []
    end = 0
    for code, data, at in iter_ops(script):
        end = at
        if code in _SPLIT:
            found += [_Op(_SPLIT[code]), _Op(op.OP_VERIFY)]
        elif op.OP_1 <= code <= op.OP_16:
            found.append(_Op(code, bytes((code - op.OP_1 + 1,))))
        elif op.OP_0 < code <= op.OP_PUSHDATA4 and not is_minimal_push(data, code):
            raise _NoMiniscript
        elif code == op.OP_VERIFY and found and found[-1].code in _SPLIT.values():
            # The shorter opcode would have done.
            raise _NoMiniscript
        else:
            found.append(_Op(code, data))
    if end != len(script):
        raise _NoMiniscript
    return found


def _number(of: _Op) -> int | None:
    """Return the number that an operation pushes, None if it pushes none in its shortest form."""
    if of.code == op.OP_0:
        return 0
    if not of.data or len(of.data) > _MAX_NUMBER_SIZE:
        return None
    value = decode_number(of.data)
    return value if encode_number(value) == of.data else None


class _Decoder:
    """Takes operations from the end of a list. What is still to do stands on a stack of its own, since scripts may be
    nested deeper than Python's calls; finished parts are on `_done`, the first part of a fragment on top.
    """

    def __init__(self, ops: list[_Op], key_of_hash: KeyOfHash, tapscript: bool) -> None:
        self._ops = ops
        self._key_of_hash = key_of_hash
        self._tapscript = tapscript
        self._done: list[Node] = []
        self._steps: list[Callable[[], None]] = []

    def run(self) -> Node:
        """Return the miniscript of all operations. Raises _NoMiniscript."""
        self._steps.append(self._expressions)
        while self._steps:
            if self._done and not self._done[-1].is_valid:
                raise _NoMiniscript
            self._steps.pop()()
        if len(self._done) != 1 or self._ops:
            raise _NoMiniscript
        return self._done[0]

    # --- reading ----------------------------------------------------------------------------------------------------

    def _codes(self, *codes: int) -> bool:
        """Whether these opcodes stand at the end, the last one first."""
        return len(self._ops) >= len(codes) and all(self._ops[-1 - at].code == code for at, code in enumerate(codes))

    def _take(self, *codes: int) -> bool:
        """Take these opcodes if they stand at the end, the last one first."""
        found = self._codes(*codes)
        if found:
            self._drop(len(codes))
        return found

    def _drop(self, count: int) -> None:
        del self._ops[len(self._ops) - count :]

    def _need(self, *codes: int) -> None:
        if not self._take(*codes):
            raise _NoMiniscript

    def _then(self, *steps: Callable[[], None]) -> None:
        """Do these steps next, in their order."""
        self._steps += reversed(steps)

    # --- building ---------------------------------------------------------------------------------------------------

    def _leaf(self, fragment: Fragment, *, k: int = 0, data: bytes = b"", keys: Sequence[bytes] = ()) -> None:
        self._done.append(Node(fragment, k=k, data=data, keys=keys, tapscript=self._tapscript))

    def _checked_key(self, key: bytes) -> bytes:
        # Whether they are points of the curve does not matter here.
        if self._tapscript:
            if len(key) != _XONLY_SIZE:
                raise _NoMiniscript
        elif len(key) != _KEY_SIZE or key[0] not in (2, 3):
            raise _NoMiniscript
        return key

    def _build(self, fragment: Fragment, count: int, k: int = 0) -> None:
        """Make one node of the last `count` parts."""
        if len(self._done) < count:
            raise _NoMiniscript
        subs = self._done[len(self._done) - count :]
        del self._done[len(self._done) - count :]
        self._done.append(Node(fragment, subs[::-1], k=k))

    def _wrap(self, fragment: Fragment) -> Callable[[], None]:
        return lambda: self._build(fragment, 1)

    def _join(self, fragment: Fragment) -> Callable[[], None]:
        return lambda: self._build(fragment, 2)

    # --- expressions ------------------------------------------------------------------------------------------------

    def _expressions(self) -> None:
        """Read an expression and, in front of it, those that `and_v` puts before it."""
        self._then(self._expression, self._maybe_and_v)

    def _maybe_and_v(self) -> None:
        if self._ops and self._ops[-1].code not in _ENDS_NO_FRAGMENT:
            self._then(self._expressions, self._join(Fragment.AND_V))

    def _expression(self) -> None:
        """Read one expression that is no `and_v` and leaves its value on top."""
        if not self._ops:
            raise _NoMiniscript
        last = self._ops[-1]
        if last.code in (op.OP_0, op.OP_1):
            self._drop(1)
            self._leaf(Fragment.FALSE if last.code == op.OP_0 else Fragment.TRUE)
        elif len(last.data) in (32, 33):
            self._drop(1)
            self._leaf(Fragment.PK_K, keys=[self._checked_key(last.data)])
        elif not (self._key_hash() or self._lock() or self._hash() or self._multi() or self._wrapper()):
            self._composite()

    def _key_hash(self) -> bool:
        if len(self._ops) < 5 or len(self._ops[-3].data) != 20:
            return False
        key_hash = self._ops[-3].data
        if not (self._codes(op.OP_VERIFY, op.OP_EQUAL) and [each.code for each in self._ops[-5:-3]] == _DUP_HASH160):
            return False
        self._drop(5)
        key = self._key_of_hash(key_hash)
        # Segwit takes compressed keys only.
        if key is None or not (self._tapscript or (len(key) == _KEY_SIZE and key[0] in (2, 3))):
            raise _NoMiniscript
        self._leaf(Fragment.PK_H, keys=[key])
        return True

    def _lock(self) -> bool:
        number = _number(self._ops[-2]) if len(self._ops) >= 2 else None
        fragments = {op.OP_CHECKSEQUENCEVERIFY: Fragment.OLDER, op.OP_CHECKLOCKTIMEVERIFY: Fragment.AFTER}
        fragment = fragments.get(self._ops[-1].code)
        if fragment is None or number is None:
            return False
        if not 1 <= number <= _MAX_LOCK:
            raise _NoMiniscript
        self._drop(2)
        self._leaf(fragment, k=number)
        return True

    def _hash(self) -> bool:
        if len(self._ops) < 7 or not self._codes(op.OP_EQUAL):
            return False
        size, length, equal, verify, function, digest = self._ops[-7:-1]
        fragment, digest_size = _HASHES.get(function.code, (Fragment.FALSE, -1))
        if (size.code, equal.code, verify.code) != (op.OP_SIZE, op.OP_EQUAL, op.OP_VERIFY):
            return False
        if _number(length) != _PREIMAGE_SIZE or len(digest.data) != digest_size:
            return False
        self._drop(7)
        self._leaf(fragment, data=digest.data)
        return True

    def _multi(self) -> bool:
        if len(self._ops) < 3 or not self._codes(op.OP_CHECKMULTISIG):
            return self._multi_a()
        if self._tapscript:
            raise _NoMiniscript
        count = _number(self._ops[-2])
        if count is None or not 1 <= count <= MAX_PUBKEYS_PER_MULTISIG or len(self._ops) < count + 3:
            raise _NoMiniscript
        required = _number(self._ops[-3 - count])
        if required is None or not 1 <= required <= count:
            raise _NoMiniscript
        keys = [self._checked_key(each.data) for each in self._ops[-2 - count : -2]]
        self._drop(count + 3)
        self._leaf(Fragment.MULTI, k=required, keys=keys)
        return True

    def _multi_a(self) -> bool:
        if len(self._ops) < 4 or not self._codes(op.OP_NUMEQUAL):
            return False
        required = _number(self._ops[-2])
        if not self._tapscript or required is None or not 1 <= required <= MAX_PUBKEYS_PER_MULTI_A:
            raise _NoMiniscript
        self._drop(2)
        keys: list[bytes] = []
        last = 0
        while last != op.OP_CHECKSIG:
            if len(self._ops) < 2 or self._ops[-1].code not in (op.OP_CHECKSIG, op.OP_CHECKSIGADD):
                raise _NoMiniscript
            last = self._ops[-1].code
            keys.append(self._checked_key(self._ops[-2].data))
            self._drop(2)
        if not required <= len(keys) <= MAX_PUBKEYS_PER_MULTI_A:
            raise _NoMiniscript
        self._leaf(Fragment.MULTI_A, k=required, keys=keys[::-1])
        return True

    def _wrapper(self) -> bool:
        # An and_v below these wrappers makes the same script as one above them, and is read as that.
        for code, fragment in (
            (op.OP_CHECKSIG, Fragment.WRAP_C),
            (op.OP_VERIFY, Fragment.WRAP_V),
            (op.OP_0NOTEQUAL, Fragment.WRAP_N),
        ):
            if self._take(code):
                self._then(self._expression, self._wrap(fragment))
                return True
        return False

    def _composite(self) -> None:
        number = _number(self._ops[-2]) if len(self._ops) >= 3 and self._codes(op.OP_EQUAL) else None
        if number is not None:
            if number < 1:
                raise _NoMiniscript
            self._drop(2)
            self._threshold(number, 1)
        elif self._take(op.OP_ENDIF):
            self._then(self._expressions, self._conditional)
        elif self._take(op.OP_BOOLAND):
            self._then(self._below_top, self._expression, self._join(Fragment.AND_B))
        elif self._take(op.OP_BOOLOR):
            self._then(self._below_top, self._expression, self._join(Fragment.OR_B))
        else:
            raise _NoMiniscript

    def _threshold(self, k: int, count: int) -> None:
        """Read the parts of a `thresh`, the last one first; `count` of them are being read or were."""
        if self._take(op.OP_ADD):
            self._then(self._below_top, lambda: self._threshold(k, count + 1))
        else:
            self._then(self._expression, lambda: self._finish_threshold(k, count))

    def _finish_threshold(self, k: int, count: int) -> None:
        if k > count:
            raise _NoMiniscript
        self._build(Fragment.THRESH, count, k)

    def _below_top(self) -> None:
        """Read an expression that works below the top of the stack."""
        if self._take(op.OP_FROMALTSTACK):
            self._then(self._expressions, lambda: self._need(op.OP_TOALTSTACK), self._wrap(Fragment.WRAP_A))
        else:
            self._then(self._expressions, lambda: self._need(op.OP_SWAP), self._wrap(Fragment.WRAP_S))

    # --- conditionals -----------------------------------------------------------------------------------------------

    def _conditional(self) -> None:
        """Tell by what stands in front of a conditional's last part which one it is."""
        if self._take(op.OP_ELSE):
            self._then(self._expressions, self._with_else)
        elif self._take(op.OP_IF, op.OP_DUP):
            self._then(self._wrap(Fragment.WRAP_D))
        elif self._take(op.OP_IF, op.OP_0NOTEQUAL, op.OP_SIZE):
            self._then(self._wrap(Fragment.WRAP_J))
        else:
            self._need(op.OP_NOTIF)
            fragment = Fragment.OR_D if self._take(op.OP_IFDUP) else Fragment.OR_C
            self._then(self._expression, self._join(fragment))

    def _with_else(self) -> None:
        if self._take(op.OP_IF):
            self._build(Fragment.OR_I, 2)
        else:
            self._need(op.OP_NOTIF)
            self._then(self._expression, self._finish_andor)

    def _finish_andor(self) -> None:
        # In the script the third part stands in front of the second.
        if len(self._done) < 3:
            raise _NoMiniscript
        self._done[-3], self._done[-2] = self._done[-2], self._done[-3]
        self._build(Fragment.ANDOR, 3)


_DUP_HASH160 = [op.OP_DUP, op.OP_HASH160]
