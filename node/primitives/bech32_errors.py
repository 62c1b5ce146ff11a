"""Where a mistyped Bech32 text is wrong.

Owns: the reference's messages and positions for texts that do not decode, up to two substituted characters.
Never: suggesting what was meant (a corrected address could be somebody else's).

The checksum is a BCH code over GF(32) with roots e^997, e^998, e^999 in GF(1024): evaluating the remainder there
gives the three syndromes from which the positions of one or two errors follow.
"""

from clarion.node.primitives.bech32 import (
    BECH32,
    BECH32M,
    CHARSET_VALUES,
    CHECKSUM_SIZE,
    MAX_LENGTH,
    expand_prefix,
    polymod,
)

_ORDER = 1023


def _make_tables() -> tuple[list[int], list[int]]:
    """Return (powers of e, logarithms; that of 0 is -1) in GF(1024) = GF(32)[e] with e^2 = 9e + 23."""
    small_exp = [1]
    for _ in range(30):
        value = small_exp[-1] << 1
        small_exp.append(value ^ 41 if value & 32 else value)
    small_log = {value: power for power, value in enumerate(small_exp)}

    def times(a: int, b: int) -> int:
        return small_exp[(small_log[a] + small_log[b]) % 31] if a else 0

    exp = [1]
    for _ in range(_ORDER - 1):
        high, low = exp[-1] >> 5, exp[-1] & 31
        exp.append((times(high, 9) ^ low) << 5 | times(high, 23))
    log = [-1] * 1024
    for power, value in enumerate(exp):
        log[value] = power
    return exp, log


_EXP, _LOG = _make_tables()


def _syndromes(residue: int) -> list[int]:
    values = []
    for root in (997, 998, 999):
        value = 0
        for position in range(CHECKSUM_SIZE):
            coefficient = residue >> 5 * position & 31
            if coefficient:
                value ^= _EXP[(_LOG[coefficient] + root * position) % _ORDER]
        values.append(value)
    return values


def _is_in_gf32(log: int) -> bool:
    # The non-zero elements of GF(32) are every 33rd power of e.
    return log % 33 == 0


def _one_error(logs: list[int], length: int) -> list[int] | None:
    """Return the position, counted from the end, of a single error; [] if there is none; None if it is not single."""
    first, second, third = logs
    if -1 in logs or (2 * second - third - first) % _ORDER:
        return None
    position = (second - first) % _ORDER
    value_log = first + (_ORDER - 997) * position
    return [position] if position < length and _is_in_gf32(value_log) else []


def _two_errors(syndromes: list[int], length: int) -> list[int]:
    """Return the two positions, counted from the end, that explain the syndromes, or nothing."""
    s0, s1, s2 = syndromes

    def times_power(value: int, power: int) -> int:
        return _EXP[(_LOG[value] + power) % _ORDER] if value else 0

    for p1 in range(length):
        upper = s2 ^ times_power(s1, p1)
        lower = s1 ^ times_power(s0, p1)
        if not upper or not lower:
            continue
        p2 = (_LOG[upper] - _LOG[lower]) % _ORDER
        if p2 >= length or p1 == p2:
            continue
        other = s1 ^ times_power(s0, p2)
        if not other:
            continue
        inverse = _ORDER - _LOG[_EXP[p1] ^ _EXP[p2]]
        if not _is_in_gf32(_LOG[lower] + inverse + (_ORDER - 997) * p2):
            continue
        if not _is_in_gf32(_LOG[other] + inverse + (_ORDER - 997) * p1):
            continue
        return [max(p1, p2), min(p1, p2)]
    return []


def _bad_characters(text: str) -> list[int]:
    """Return where characters are not printable or contradict the case of the letters before them."""
    lower = upper = False
    positions = []
    for index, char in enumerate(text):
        if "a" <= char <= "z":
            if upper:
                positions.append(index)
            else:
                lower = True
        elif "A" <= char <= "Z":
            if lower:
                positions.append(index)
            else:
                upper = True
        elif not 33 <= ord(char) <= 126:
            positions.append(index)
    return positions


def locate_errors(text: str) -> tuple[str, list[int]]:
    """Return (message, positions of wrong characters), both empty if the text is good, as the reference words them."""
    if len(text) > MAX_LENGTH:
        return "Bech32 string too long", list(range(MAX_LENGTH, len(text)))
    positions = _bad_characters(text)
    if positions:
        return "Invalid character or mixed case", positions
    separator = text.rfind("1")
    if separator < 0:
        return "Missing separator", []
    if separator == 0 or separator + CHECKSUM_SIZE >= len(text):
        return "Invalid separator position", [separator]
    values = []
    for index in range(separator + 1, len(text)):
        value = CHARSET_VALUES.get(text[index].lower())
        if value is None:
            return "Invalid Base 32 character", [index]
        values.append(value)
    return _locate_by_checksum(text[:separator].lower(), values, len(text))


def _locate_by_checksum(prefix: str, values: list[int], size: int) -> tuple[str, list[int]]:
    # Both checksums are tried, and the one that explains the text with fewer errors is believed: the version that
    # would tell which one applies may be what is wrong.
    message = "Invalid checksum"
    best: list[int] = []
    for constant, name in ((BECH32, "Bech32"), (BECH32M, "Bech32m")):
        residue = polymod(expand_prefix(prefix) + values) ^ constant
        if not residue:
            return "", []
        syndromes = _syndromes(residue)
        from_end = _one_error([_LOG[syndrome] for syndrome in syndromes], len(values))
        if from_end is None:
            from_end = _two_errors(syndromes, len(values))
        if from_end and (not best or len(from_end) < len(best)):
            best = [size - 1 - position for position in from_end]
            message = f"Invalid {name} checksum"
    return message, best
