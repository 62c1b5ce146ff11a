"""Solves an output: the script_sig and witness that spend it, as far as keys, scripts and signatures are known.

Owns: the standard templates, bare, in P2SH, in P2WSH and nested, miniscript in P2WSH. Never: other scripts; taproot (see
`taproot_producer`).
What can't be solved whole is left with the signatures that there are, so that others can add theirs.
"""

from clarion.node.primitives.hashes import hash160, ripemd160
from clarion.node.primitives.miniscript.decoding import decode_script
from clarion.node.primitives.opcodes import OP_0
from clarion.node.primitives.script import p2pkh_script, push_data, push_number
from clarion.node.primitives.templates import ScriptType, Solution, solve
from clarion.node.script.flags import STANDARD_SCRIPT_VERIFY_FLAGS
from clarion.node.script.machine import SIGVERSION_BASE, SIGVERSION_WITNESS_V0
from clarion.node.script.signing.creator import Creator
from clarion.node.script.signing.provider import SigningProvider
from clarion.node.script.signing.satisfaction import Satisfier, satisfy
from clarion.node.script.signing.signature_data import KeySignature, SignatureData
from clarion.node.script.signing.taproot_producer import find_pubkey, solve_taproot
from clarion.node.script.verify import verify_script

_NESTING = (ScriptType.SCRIPTHASH, ScriptType.WITNESS_V0_SCRIPTHASH, ScriptType.WITNESS_V0_KEYHASH)
_NEGATIVE_ONE = b"\x81"


def produce_signature(provider: SigningProvider, creator: Creator, script_pubkey: bytes, data: SignatureData) -> bool:
    """Fill `data` with what spends the output; return whether it is complete, which is what policy's rules accept."""
    if data.complete:
        return True
    signer = _Signer(provider, creator, data)
    kind, solved, stack = signer.step(script_pubkey, SIGVERSION_BASE)
    in_p2sh = solved and kind is ScriptType.SCRIPTHASH
    if in_p2sh:
        data.redeem_script = stack[0]
        kind, solved, stack = signer.step(data.redeem_script, SIGVERSION_BASE)
        solved = solved and kind is not ScriptType.SCRIPTHASH
    if solved and kind is ScriptType.WITNESS_V0_KEYHASH:
        _, solved, items = signer.step(p2pkh_script(stack[0]), SIGVERSION_WITNESS_V0)
        data.witness, data.has_witness, stack = tuple(items), True, []
    elif solved and kind is ScriptType.WITNESS_V0_SCRIPTHASH:
        data.witness_script = stack[0]
        inner, solved, items = signer.step(data.witness_script, SIGVERSION_WITNESS_V0)
        solved = solved and inner not in _NESTING
        # A multisig that is signed in part is no miniscript to be solved another way: others add to it.
        if not solved and not items:
            solved, items = signer.miniscript(data.witness_script)
        data.witness, data.has_witness, stack = (*items, data.witness_script), True, []
    elif kind is ScriptType.WITNESS_V1_TAPROOT and not in_p2sh:
        data.has_witness = True
        if solved:
            data.witness = tuple(stack)
        stack = []
    if not data.has_witness:
        data.witness = ()
    if in_p2sh:
        stack.append(data.redeem_script)
    data.script_sig = b"".join(map(_push, stack))
    data.complete = solved and (
        verify_script(data.script_sig, script_pubkey, data.witness, STANDARD_SCRIPT_VERIFY_FLAGS, creator.checker)
        is None
    )
    return data.complete


def _push(item: bytes) -> bytes:
    """Return the shortest push of a stack item."""
    if not item:
        return bytes((OP_0,))
    if len(item) == 1 and (1 <= item[0] <= 16 or item == _NEGATIVE_ONE):
        return push_number(-1 if item == _NEGATIVE_ONE else item[0])
    return push_data(item)


_Step = tuple[bool, list[bytes]]
"""Whether a script is solved, and the stack that solves it, or as much of it as there is."""


class _Signer:
    """Solves one script at a time. A script hash is solved by its script, which is solved next."""

    def __init__(self, provider: SigningProvider, creator: Creator, data: SignatureData) -> None:
        self._provider = provider
        self._creator = creator
        self._data = data

    def step(self, script: bytes, sigversion: int) -> tuple[ScriptType, bool, list[bytes]]:
        """Return (kind, whether it is solved, the stack) of a script."""
        solution = solve(script)
        solved, stack = self._solve(script, solution, sigversion)
        return solution.type, solved, stack

    def _solve(self, script: bytes, solution: Solution, sigversion: int) -> _Step:
        kind, data, required = solution
        if kind is ScriptType.PUBKEY:
            signature = self._sign(data[0], script, sigversion)
            return (False, []) if signature is None else (True, [signature])
        if kind is ScriptType.PUBKEYHASH:
            return self._pubkey_hash(data[0], script, sigversion)
        if kind is ScriptType.MULTISIG:
            return self._multisig(data, required, script, sigversion)
        if kind is ScriptType.SCRIPTHASH:
            step = self._script_hash(data[0])
            if not step[0]:
                self._data.missing.redeem_script = data[0]
            return step
        if kind is ScriptType.WITNESS_V0_SCRIPTHASH:
            step = self._script_hash(ripemd160(data[0]))
            if not step[0]:
                self._data.missing.witness_script = data[0]
            return step
        if kind is ScriptType.WITNESS_V0_KEYHASH:
            return True, [data[0]]
        if kind is ScriptType.WITNESS_V1_TAPROOT:
            items = solve_taproot(self._provider, self._creator, self._data, data[0])
            return items is not None, list(items or ())
        # Anyone may spend an anchor, with nothing.
        return kind is ScriptType.ANCHOR, []

    def _sign(self, pubkey: bytes, script: bytes, sigversion: int) -> bytes | None:
        key_hash = hash160(pubkey)
        known = self._data.signatures.get(key_hash)
        if known is not None:
            return known.signature
        origin = self._provider.origin(key_hash)
        if origin is not None:
            self._data.origins.setdefault(key_hash, (pubkey, origin))
        signature = self._creator.ecdsa(self._provider, key_hash, script, sigversion)
        if signature is None:
            self._data.missing.signatures.append(key_hash)
        else:
            self._data.signatures[key_hash] = KeySignature(pubkey, signature)
        return signature

    def _pubkey(self, key_hash: bytes) -> bytes | None:
        return find_pubkey(self._provider, self._data, key_hash)

    def _pubkey_hash(self, key_hash: bytes, script: bytes, sigversion: int) -> _Step:
        pubkey = self._pubkey(key_hash)
        signature = None if pubkey is None else self._sign(pubkey, script, sigversion)
        return (False, []) if pubkey is None or signature is None else (True, [signature, pubkey])

    def _multisig(self, pubkeys: tuple[bytes, ...], required: int, script: bytes, sigversion: int) -> _Step:
        # Every key signs, also those that are not needed: whoever combines signatures may need another choice.
        made = [self._sign(pubkey, script, sigversion) for pubkey in pubkeys]
        signatures = [signature for signature in made if signature is not None][:required]
        # CHECKMULTISIG takes an item too many. The reference puts an empty item for every second missing signature.
        missing = required - len(signatures)
        return not missing, [b"", *signatures, *([b""] * ((missing + 1) // 2))]

    def _script_hash(self, script_hash: bytes) -> _Step:
        script = self._provider.script(script_hash)
        if script is None:
            script = self._data.script(script_hash)
        return (False, []) if script is None else (True, [script])

    def miniscript(self, script: bytes) -> _Step:
        """Return (whether a witness script is solved, the stack) by what it means as a miniscript."""
        node = decode_script(script, self._pubkey)
        if node is None:
            return False, []
        satisfier = Satisfier(
            lambda key: self._sign(key, script, SIGVERSION_WITNESS_V0), self._data.preimage, self._creator.checker
        )
        items = satisfy(node, satisfier)
        return items is not None, list(items or ())
