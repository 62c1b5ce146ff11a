"""Fee rates as policy compares and rounds them.

Owns: the reference's CFeeRate: an exact fraction of satoshis and virtual bytes. Never: which rate a rule demands.
"""

from clarion.node.primitives.amounts import format_amount

_KVB = 1000


class FeeRate:
    """`fee_sat` for `vsize` virtual bytes, exactly; without a vsize `fee_sat` is per 1,000 virtual bytes.

    Comparisons look at the quotient alone. A rate for a size of zero or less is the empty rate, which demands
    nothing and, as in the reference, compares equal to every rate.
    """

    __slots__ = ("fee_sat", "vsize")

    def __init__(self, fee_sat: int = 0, vsize: int = _KVB) -> None:
        self.fee_sat = fee_sat if vsize > 0 else 0
        self.vsize = max(vsize, 0)

    @property
    def sat_per_kvb(self) -> int:
        """The fee of 1,000 virtual bytes in satoshis, rounded down: what people and clients see."""
        return self.fee_sat * _KVB // self.vsize if self.vsize else 0

    def fee(self, vsize: int) -> int:
        """Return the fee in satoshis for `vsize` virtual bytes, rounded up.

        A negative rate costs at least one satoshi less than nothing, however small the size.
        """
        if not self.vsize:
            return 0
        fee = -(-self.fee_sat * vsize // self.vsize)
        return -1 if fee == 0 and vsize and self.fee_sat < 0 else fee

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeeRate):
            return NotImplemented
        return self.fee_sat * other.vsize == other.fee_sat * self.vsize

    def __lt__(self, other: "FeeRate") -> bool:
        return self.fee_sat * other.vsize < other.fee_sat * self.vsize

    def __le__(self, other: "FeeRate") -> bool:
        return self.fee_sat * other.vsize <= other.fee_sat * self.vsize

    def __gt__(self, other: "FeeRate") -> bool:
        return other < self

    def __ge__(self, other: "FeeRate") -> bool:
        return other <= self

    def __add__(self, other: "FeeRate") -> "FeeRate":
        """Return the sum of both rates, each rounded down to satoshis per kvB."""
        return FeeRate(self.sat_per_kvb + other.sat_per_kvb)

    def __mul__(self, factor: int) -> "FeeRate":
        """Return the exact multiple."""
        return FeeRate(self.fee_sat * factor, self.vsize)

    def __str__(self) -> str:
        return f"{format_amount(self.sat_per_kvb)} BTC/kvB"

    def __repr__(self) -> str:
        return f"FeeRate({self.fee_sat}, {self.vsize})"
