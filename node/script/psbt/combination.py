"""Several PSBTs made into one: of the same transaction (combiner), or of several that are to become one (joiner).

Owns: which of them fit together. Never: signatures' validity, bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from clarion.node.primitives.ids import hash_to_hex
from clarion.node.script.psbt.psbt import Psbt, add_xpub, sorted_xpubs
from clarion.node.script.psbt.reader import PsbtError

_HAS_SINGLE = 0b100
"""The flag of version 2 that says that a signature with SIGHASH_SINGLE is among the inputs."""


def combine_psbts(psbts: Sequence[Psbt]) -> Psbt | None:
    """Return the first PSBT with what the others know, None if they are not about the same transaction."""
    combined = psbts[0].copy()
    for other in psbts[1:]:
        if not _merge(combined, other):
            return None
    return combined


def _merge(into: Psbt, other: Psbt) -> bool:
    mine = into.unique_id()
    if mine is None or mine != other.unique_id() or into.number != other.number:
        return False
    for input_, their_input in zip(into.inputs, other.inputs, strict=True):
        input_.merge(their_input)
    for output, their_output in zip(into.outputs, other.outputs, strict=True):
        output.merge(their_output)
    _merge_xpubs(into, other)
    if into.fallback_lock_time is None:
        into.fallback_lock_time = other.fallback_lock_time
    if into.modifiable is not None or other.modifiable is not None:
        a, b = into.modifiable or 0, other.modifiable or 0
        into.modifiable = (a & b & ~_HAS_SINGLE) | ((a | b) & _HAS_SINGLE)
    into.proprietary = other.proprietary | into.proprietary
    into.unknown = other.unknown | into.unknown
    return True


def _merge_xpubs(into: Psbt, other: Psbt) -> None:
    for origin, xpubs in other.xpubs.items():
        for xpub in sorted_xpubs(xpubs):
            add_xpub(into.xpubs, origin, xpub)


def join_psbts(psbts: Sequence[Psbt], shuffle: Callable[[list[int]], None]) -> Psbt:
    """Return one PSBT of version 0 with all inputs, less their signatures, and outputs of several; `shuffle` puts them
    in another order. Raises PsbtError with the reference's message if two of them spend the same output.
    """
    joined = Psbt(0, max(1, *[psbt.tx_version for psbt in psbts]))
    joined.fallback_lock_time = min(psbt.fallback_lock_time or 0 for psbt in psbts)
    inputs, outputs, prevouts = [], [], set()
    for psbt in psbts:
        for each in psbt.inputs:
            if each.prevout in prevouts:
                raise PsbtError(f"Input {hash_to_hex(each.prev_txid)}:{each.prev_index} exists in multiple PSBTs")
            prevouts.add(each.prevout)
            inputs.append(replace(each, partial_signatures={}, final_script_sig=b"", final_witness=()))
        outputs += psbt.outputs
        joined.unknown = psbt.unknown | joined.unknown
    joined.inputs = [inputs[at] for at in _shuffled(len(inputs), shuffle)]
    joined.outputs = [outputs[at] for at in _shuffled(len(outputs), shuffle)]
    return joined


def _shuffled(count: int, shuffle: Callable[[list[int]], None]) -> list[int]:
    order = list(range(count))
    shuffle(order)
    return order
