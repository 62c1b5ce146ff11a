"""Proof of work: targets, their compact form, and which target a block must have.

Owns: retargets and the exceptions of the test networks. Never: time, or the choice of the best chain.
"""

from clarion.node.consensus.position import ChainPosition
from clarion.node.params.chain_params import ChainParams

_MASK_256 = (1 << 256) - 1
_MAX_INT64 = (1 << 63) - 1


def decode_compact(bits: int) -> tuple[int, bool, bool]:
    """Return (target, negative, overflow) of a header's `bits`. The target is cut to 256 bits, without sign."""
    size = bits >> 24
    word = bits & 0x007FFFFF
    if size <= 3:
        word >>= 8 * (3 - size)
        target = word
    else:
        target = (word << 8 * (size - 3)) & _MASK_256
    negative = word != 0 and bits & 0x00800000 != 0
    overflow = word != 0 and (size > 34 or (word > 0xFF and size > 33) or (word > 0xFFFF and size > 32))
    return target, negative, overflow


def encode_compact(target: int) -> int:
    """Return the compact form of a target, which rounds it down to three bytes of precision."""
    size = (target.bit_length() + 7) // 8
    word = target << 8 * (3 - size) if size <= 3 else target >> 8 * (size - 3)
    # The highest bit is the sign: a mantissa that would set it moves down a byte.
    if word & 0x00800000:
        word >>= 8
        size += 1
    return word | size << 24


def derive_target(bits: int, pow_limit: int) -> int | None:
    """Return the target that `bits` stands for, None where no block of the network may have it."""
    target, negative, overflow = decode_compact(bits)
    if negative or overflow or target == 0 or target > pow_limit:
        return None
    return target


def check_proof_of_work(block_hash: bytes, bits: int, params: ChainParams) -> bool:
    """Return whether the hash (internal order) satisfies the target and the target is one that the network allows."""
    target = derive_target(bits, params.pow_limit)
    return target is not None and int.from_bytes(block_hash, "little") <= target


def block_proof(bits: int) -> int:
    """Return the expected number of hashes behind a block with these `bits`, 0 for an impossible target."""
    target, negative, overflow = decode_compact(bits)
    if negative or overflow or target == 0:
        return 0
    return (1 << 256) // (target + 1)


def block_proof_equivalent_time(to_work: int, from_work: int, tip_bits: int, params: ChainParams) -> int:
    """Return the seconds that the network needs, at the tip's difficulty, for the work between two blocks.

    Works are chainworks. Negative if `to_work` is the lower one; cut to the range of int64.
    """
    sign = 1 if to_work > from_work else -1
    # The reference multiplies in 256 bits.
    seconds = ((abs(to_work - from_work) * params.pow_target_spacing) & _MASK_256) // block_proof(tip_bits)
    return sign * min(seconds, _MAX_INT64)


def difficulty(bits: int) -> float:
    """Return how many times harder the target is than the highest one of the main network."""
    mantissa = bits & 0x00FFFFFF
    if mantissa == 0:
        return float("inf")
    shift = bits >> 24
    value = 0x0000FFFF / mantissa
    # Step by step, as the reference does: the last digit of the double is visible to clients.
    while shift < 29:
        value *= 256.0
        shift += 1
    while shift > 29:
        value /= 256.0
        shift -= 1
    return value


def next_work_required(prev: ChainPosition, block_time: int, params: ChainParams) -> int:
    """Return the `bits` that a block on top of `prev` with this time must have."""
    limit_bits = encode_compact(params.pow_limit)
    interval = params.difficulty_interval
    if (prev.height + 1) % interval != 0:
        # Where nothing ever retargets, all blocks have the genesis block's limit: there is nothing to walk back for.
        if not params.allow_min_difficulty or (params.no_retargeting and prev.bits == limit_bits):
            return prev.bits
        # Testnet: twice the spacing without a block allows, and demands, one of the lowest difficulty; the next
        # block goes on from the last one that was mined without this exception.
        if block_time > prev.time + params.pow_target_spacing * 2:
            return limit_bits
        position = prev
        while position.height % interval != 0 and position.bits == limit_bits and position.prev is not None:
            position = position.prev
        return position.bits

    first = prev.ancestor(prev.height - (interval - 1))
    assert first is not None, "a retarget period begins at genesis at the latest"
    return calculate_next_work_required(prev, first, params)


def calculate_next_work_required(last: ChainPosition, first: ChainPosition, params: ChainParams) -> int:
    """Return the `bits` of the period behind `last`, whose own period begins with `first`.

    The period spans one interval less than it has blocks, which every implementation must repeat.
    """
    if params.no_retargeting:
        return last.bits
    timespan = params.pow_target_timespan
    actual = max(timespan // 4, min(last.time - first.time, timespan * 4))
    # BIP94: the first block of a period can't use testnet's exception, so it keeps the real difficulty.
    base, _, _ = decode_compact(first.bits if params.enforce_bip94 else last.bits)
    target = ((base * actual) & _MASK_256) // timespan
    return encode_compact(min(target, params.pow_limit))


def permitted_difficulty_transition(params: ChainParams, height: int, old_bits: int, new_bits: int) -> bool:
    """Return whether the block at `height` may have `new_bits` after `old_bits`, whatever the times are.

    What headers presync can check without the ancestors; true wherever testnet's exception could apply.
    """
    if params.allow_min_difficulty:
        return True
    if height % params.difficulty_interval != 0:
        return old_bits == new_bits
    timespan = params.pow_target_timespan
    old_target, _, _ = decode_compact(old_bits)
    new_target, _, _ = decode_compact(new_bits)

    def rounded(actual: int) -> int:
        target = ((old_target * actual) & _MASK_256) // timespan
        return decode_compact(encode_compact(min(target, params.pow_limit)))[0]

    return rounded(timespan // 4) <= new_target <= rounded(timespan * 4)
