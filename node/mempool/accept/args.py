"""How transactions are offered to the mempool.

Owns: the switches between the ways to offer one, and which of them go together. Never: what is offered.
"""

from dataclasses import dataclass

from clarion.node.mempool.feerate import FeeRate


@dataclass(frozen=True, slots=True)
class AcceptArgs:
    """The switches. Use the class methods: not every combination makes sense.

    `accept_time` is the time (Unix seconds) that an entry gets and expires by.
    """

    accept_time: int
    bypass_limits: bool = False
    """Fees, TRUC and the pool's size don't matter, and an entry's sequence is 0: a reorganisation brings it back."""
    test_accept: bool = False
    """Only find out; nothing is changed."""
    allow_replacement: bool = True
    """Whether it may take the place of transactions that spend the same outputs."""
    allow_sibling_eviction: bool = True
    """Whether it may push out the other child of its parent where TRUC allows only one."""
    package_submission: bool = False
    """The pool is brought within its limits by the caller, at the package's end."""
    package_feerates: bool = False
    """Fees are looked at for the package as a whole."""
    client_maxfeerate: FeeRate | None = None
    """A transaction with a higher fee rate is refused: its sender is likely to have miscalculated."""
    max_base_fee_sat: int | None = None
    """A transaction that passes but pays more raises MaxFeeExceeded instead of coming in."""
    local: bool = False
    """A client of this node sends it: peers must hear of it."""

    @classmethod
    def single(cls, accept_time: int, *, bypass_limits: bool = False, test: bool = False) -> "AcceptArgs":
        """A transaction by itself."""
        return cls(accept_time, bypass_limits=bypass_limits, test_accept=test)

    @classmethod
    def sent_by_client(cls, accept_time: int, max_base_fee_sat: int | None) -> "AcceptArgs":
        """A transaction that a client has this node broadcast."""
        return cls(accept_time, max_base_fee_sat=max_base_fee_sat, local=True)

    @classmethod
    def package_test(cls, accept_time: int) -> "AcceptArgs":
        """Several transactions that are tested one on top of the other."""
        return cls(accept_time, test_accept=True, allow_replacement=False, allow_sibling_eviction=False)

    @classmethod
    def child_with_parents(cls, accept_time: int, client_maxfeerate: FeeRate | None) -> "AcceptArgs":
        """What is left of a package once its members were tried one by one."""
        return cls(
            accept_time,
            allow_sibling_eviction=False,
            package_submission=True,
            package_feerates=True,
            client_maxfeerate=client_maxfeerate,
        )

    def for_single(self) -> "AcceptArgs":
        """One member of a package, tried by itself."""
        return AcceptArgs(
            self.accept_time,
            test_accept=self.test_accept,
            package_submission=True,
            client_maxfeerate=self.client_maxfeerate,
        )
