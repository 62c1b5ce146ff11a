"""Blocks that break one rule each: the reason is the reference's and the tip stays."""

from collections.abc import Callable
from typing import Any

import pytest

from clarion.node.primitives.ids import NULL_OUTPOINT, OutPoint
from clarion.node.primitives.transaction import Transaction, TxIn, TxOut
from helpers import chain_builder as build
from helpers.chain_builder import MAX_BLOCK_SIGOPS_COST, MAX_MONEY, OP_TRUE, Built, make_block, make_coinbase
from helpers.signing import push
from helpers.world import KEY, SIGOPS_REDEEM, World, spend, with_script

SCRIPT_FAILED = "block-script-verify-flag-failed ({})"
FALSE_AT_END = SCRIPT_FAILED.format("Script evaluated without error but finished with a false/empty top stack element")

AN_HOUR = 3600  # the oracle's clock goes on while the world's stands still

Case = tuple[str, Callable[[World], Built]]


def case(name: str, reason: str, make: Callable[[World], Built]) -> object:
    return pytest.param(reason, make, id=name)


def coinbase_block(world: World, **changes: Any) -> Built:
    """Return a block whose coinbase is made with `changes`."""
    coinbase = make_coinbase(world.tip.height + 1, **changes)
    return make_block(world.tip, coinbase=coinbase)


def paying(world: World, *outputs: TxOut, fees: int = 0) -> Built:
    """Return a block with a transaction that has these outputs."""
    return make_block(world.tip, [spend([world.coin("true")], outputs)], fees=fees)


def spending(world: World, kind: str, script_sig: bytes = b"", witness: tuple[bytes, ...] = (), **how: Any) -> Built:
    """Return a block that spends the coin of that kind with a given script and witness."""
    return make_block(world.tip, [with_script(spend([world.coin(kind)], **how), script_sig, witness)])


def badly_signed(world: World, kind: str) -> Built:
    return make_block(world.tip, [spend([world.coin(kind)], spoil=True)])


def duplicated_tail(world: World) -> Built:
    """Return a block with the merkle root of a shorter list (CVE-2012-2459)."""
    a = spend([world.coin("true")])
    b = spend([world.coin("true2")])
    coinbase = make_coinbase(world.tip.height + 1)
    return build.assemble(world.tip, [coinbase, a, b, b])


def with_witness(world: World, coinbase: Transaction) -> Built:
    return make_block(world.tip, [spend([world.coin("wpkh")])], coinbase=coinbase)


def committed_coinbase(world: World, **changes: Any) -> Transaction:
    """Return a coinbase with a commitment to the block of `with_witness`, changed."""
    commitment = build.commitment_output([spend([world.coin("wpkh")])])
    return make_coinbase(world.tip.height + 1, **({"more_outputs": [commitment]} | changes))


def overweight(world: World) -> Built:
    """Return a block whose witness alone makes it too heavy."""
    tx = with_script(spend([world.coin("p2wsh")]), witness=(bytes(build.MAX_BLOCK_WEIGHT), OP_TRUE))
    return make_block(world.tip, [tx])


def many_p2sh_sigops(world: World) -> Built:
    coins = [world.coin(f"p2sh-sigops-{i}") for i in range(40)]
    tx = spend(coins)
    inputs = [TxIn(txin.prevout, push(SIGOPS_REDEEM), txin.sequence) for txin in tx.inputs]
    return make_block(world.tip, [Transaction(2, inputs, tx.outputs)])


HEADER_CASES = [
    case("hash-above-target", "high-hash", lambda w: make_block(w.tip, good_work=False)),
    case("target-above-limit", "high-hash", lambda w: make_block(w.tip, bits=0x217FFFFF)),
    case("other-bits", "bad-diffbits", lambda w: make_block(w.tip, bits=0x207FFFFE)),
    case("time-of-median", "time-too-old", lambda w: make_block(w.tip, time=w.tip.median_time_past())),
    case(
        "time-beyond-two-hours",
        "time-too-new",
        lambda w: make_block(w.tip, time=w.clock.now() + build.MAX_FUTURE_BLOCK_TIME + AN_HOUR),
    ),
    case("version-1", "bad-version(0x00000001)", lambda w: make_block(w.tip, version=1)),
    case("version-2", "bad-version(0x00000002)", lambda w: make_block(w.tip, version=2)),
    case("version-3", "bad-version(0x00000003)", lambda w: make_block(w.tip, version=3)),
    case("version-negative", "bad-version(0xffffffff)", lambda w: make_block(w.tip, version=-1)),
    case(
        "unknown-parent",
        "prev-blk-not-found",
        lambda w: make_block(Built(bytes(32), w.tip.height, w.tip.time)),
    ),
]

STRUCTURE_CASES = [
    case("wrong-merkle-root", "bad-txnmrklroot", lambda w: make_block(w.tip, root=bytes(32))),
    case("duplicated-tail", "bad-txns-duplicate", duplicated_tail),
    case("no-transaction", "bad-blk-length", lambda w: build.assemble(w.tip, [])),
    case(
        "a-megabyte-without-witness",
        "bad-blk-length",
        lambda w: coinbase_block(w, more_outputs=[TxOut(0, bytes(build.MAX_BLOCK_WEIGHT // 4))]),
    ),
    case("no-coinbase", "bad-cb-missing", lambda w: build.assemble(w.tip, [spend([w.coin("true")])])),
    case(
        "two-coinbases",
        "bad-cb-multiple",
        lambda w: make_block(w.tip, [make_coinbase(w.tip.height + 1, extra_nonce=1)]),
    ),
    case("coinbase-script-of-1-byte", "bad-cb-length", lambda w: coinbase_block(w, script_sig=b"\x01")),
    case("coinbase-script-of-101-bytes", "bad-cb-length", lambda w: coinbase_block(w, script_sig=bytes(101))),
    case(
        "sigops-of-outputs",
        "bad-blk-sigops",
        lambda w: coinbase_block(w, more_outputs=[TxOut(0, b"\xac" * (MAX_BLOCK_SIGOPS_COST // 4 + 1))]),
    ),
]

TRANSACTION_CASES = [
    case("no-input", "bad-txns-vin-empty", lambda w: make_block(w.tip, [Transaction(2, [], [TxOut(0, OP_TRUE)])])),
    case("no-output", "bad-txns-vout-empty", lambda w: paying(w)),
    case("negative-value", "bad-txns-vout-negative", lambda w: paying(w, TxOut(-1, OP_TRUE))),
    case("value-above-21-million", "bad-txns-vout-toolarge", lambda w: paying(w, TxOut(MAX_MONEY + 1, OP_TRUE))),
    case(
        "sum-above-21-million",
        "bad-txns-txouttotal-toolarge",
        lambda w: paying(w, TxOut(MAX_MONEY, OP_TRUE), TxOut(1, OP_TRUE)),
    ),
    case(
        "same-input-twice",
        "bad-txns-inputs-duplicate",
        lambda w: make_block(w.tip, [spend([w.coin("true"), w.coin("true")])]),
    ),
    case(
        "null-prevout",
        "bad-txns-prevout-null",
        lambda w: make_block(w.tip, [spend([w.coin("true"), (NULL_OUTPOINT, TxOut(0, OP_TRUE))])]),
    ),
]

CONTEXT_CASES = [
    case(
        "lock-time-of-this-height",
        "bad-txns-nonfinal",
        lambda w: make_block(w.tip, [spend([w.coin("true")], lock_time=w.tip.height + 1)]),
    ),
    case(
        "lock-time-of-median-time",
        "bad-txns-nonfinal",
        lambda w: make_block(w.tip, [spend([w.coin("true")], lock_time=w.tip.median_time_past())]),
    ),
    case(
        "coinbase-not-final",
        "bad-txns-nonfinal",
        lambda w: coinbase_block(w, lock_time=w.tip.height + 1, sequence=0),
    ),
    case(
        "height-of-the-parent",
        "bad-cb-height",
        lambda w: coinbase_block(w, script_sig=build.height_push(w.tip.height) + b"\x00"),
    ),
    case("height-missing", "bad-cb-height", lambda w: coinbase_block(w, script_sig=b"\x00\x00")),
    case(
        "height-not-shortest",
        "bad-cb-height",
        lambda w: coinbase_block(w, script_sig=b"\x04" + (w.tip.height + 1).to_bytes(4, "little")),
    ),
    case(
        "commitment-without-reserved-value",
        "bad-witness-nonce-size",
        lambda w: with_witness(w, committed_coinbase(w)),
    ),
    case(
        "reserved-value-of-31-bytes",
        "bad-witness-nonce-size",
        lambda w: with_witness(w, committed_coinbase(w, witness=(bytes(31),))),
    ),
    case(
        "two-reserved-values",
        "bad-witness-nonce-size",
        lambda w: with_witness(w, committed_coinbase(w, witness=(bytes(32), bytes(32)))),
    ),
    case(
        "other-reserved-value",
        "bad-witness-merkle-match",
        lambda w: with_witness(w, committed_coinbase(w, witness=(b"\x01" * 32,))),
    ),
    case(
        "last-commitment-counts",
        "bad-witness-merkle-match",
        lambda w: with_witness(
            w,
            committed_coinbase(
                w,
                witness=(bytes(32),),
                more_outputs=[
                    build.commitment_output([spend([w.coin("wpkh")])]),
                    TxOut(0, build.COMMITMENT_PREFIX + bytes(32)),
                ],
            ),
        ),
    ),
    case(
        "witness-without-commitment",
        "unexpected-witness",
        lambda w: make_block(w.tip, [spend([w.coin("wpkh")])], commit=False),
    ),
    case(
        "coinbase-witness-without-commitment",
        "unexpected-witness",
        lambda w: coinbase_block(w, witness=(bytes(32),)),
    ),
    case("witness-too-heavy", "bad-blk-weight", overweight),
]

CONNECT_CASES = [
    case(
        "unknown-output",
        "bad-txns-inputs-missingorspent",
        lambda w: make_block(w.tip, [spend([(OutPoint(b"\x01" * 36), TxOut(1, OP_TRUE))])]),
    ),
    case(
        "spent-before",
        "bad-txns-inputs-missingorspent",
        lambda w: make_block(w.tip, [spend([w.base[0].coinbase_output()])]),
    ),
    case(
        "spent-twice-in-the-block",
        "bad-txns-inputs-missingorspent",
        lambda w: make_block(w.tip, [spend([w.coin("true")]), spend([w.coin("true")], fee=1)], fees=1),
    ),
    case("child-before-parent", "bad-txns-inputs-missingorspent", lambda w: child_first(w)),
    case(
        "own-coinbase",
        "bad-txns-premature-spend-of-coinbase",
        lambda w: spends_own_coinbase(w),
    ),
    case(
        "coinbase-99-deep",
        "bad-txns-premature-spend-of-coinbase",
        lambda w: make_block(w.tip, [spend([w.base[w.tip.height - build.COINBASE_MATURITY + 1].coinbase_output()])]),
    ),
    case(
        "spends-more-than-it-has",
        "bad-txns-in-belowout",
        lambda w: make_block(w.tip, [spend([w.coin("true")], fee=-1)]),
    ),
    case(
        "relative-height-lock",
        "bad-txns-nonfinal",
        lambda w: make_block(w.tip, [spend([w.coin("true")], sequence=2)]),
    ),
    case(
        "relative-time-lock",
        "bad-txns-nonfinal",
        lambda w: make_block(w.tip, [spend([w.coin("true")], sequence=0x00400010)]),
    ),
    case("sigops-behind-p2sh", "bad-blk-sigops", many_p2sh_sigops),
    case(
        "sigops-in-witness-script",
        "bad-blk-sigops",
        lambda w: spending(w, "p2wsh-sigops", witness=(b"\xac" * (MAX_BLOCK_SIGOPS_COST + 1),)),
    ),
    case(
        "coinbase-takes-a-satoshi-too-much",
        "bad-cb-amount",
        lambda w: coinbase_block(w, value=build.subsidy(w.tip.height + 1) + 1),
    ),
    case(
        "coinbase-takes-more-than-fees",
        "bad-cb-amount",
        lambda w: make_block(w.tip, [spend([w.coin("true")], fee=5)], fees=6),
    ),
    case(
        "amount-before-scripts",
        "bad-cb-amount",
        lambda w: make_block(w.tip, [spend([w.coin("return")], fee=5)], fees=6),
    ),
]

SCRIPT_CASES = [
    case("wrong-signature-pkh", FALSE_AT_END, lambda w: badly_signed(w, "pkh")),
    case("wrong-signature-wpkh", FALSE_AT_END, lambda w: badly_signed(w, "wpkh")),
    case("wrong-signature-tr", SCRIPT_FAILED.format("Invalid Schnorr signature"), lambda w: badly_signed(w, "tr")),
    case(
        "signature-of-63-bytes-tr",
        SCRIPT_FAILED.format("Invalid Schnorr signature size"),
        lambda w: spending(w, "tr", witness=(bytes(63),)),
    ),
    case(
        "no-witness-wpkh",
        SCRIPT_FAILED.format("Witness program hash mismatch"),
        lambda w: spending(w, "wpkh"),
    ),
    case(
        "no-witness-p2wsh",
        SCRIPT_FAILED.format("Witness program was passed an empty witness"),
        lambda w: spending(w, "p2wsh"),
    ),
    case(
        "other-witness-script",
        SCRIPT_FAILED.format("Witness program hash mismatch"),
        lambda w: spending(w, "p2wsh", witness=(b"\x52",)),
    ),
    case(
        "script-sig-with-witness-program",
        SCRIPT_FAILED.format("Witness requires empty scriptSig"),
        lambda w: spending(w, "p2wsh", b"\x51", (OP_TRUE,)),
    ),
    case(
        "witness-for-legacy-output",
        SCRIPT_FAILED.format("Witness provided for non-witness script"),
        lambda w: spending(w, "true", witness=(b"\x01",)),
    ),
    case("other-redeem-script", FALSE_AT_END, lambda w: spending(w, "p2sh", push(b"\x52"))),
    case("false", FALSE_AT_END, lambda w: spending(w, "false")),
    case("op-return", SCRIPT_FAILED.format("OP_RETURN was encountered"), lambda w: spending(w, "return")),
    case("op-cat", SCRIPT_FAILED.format("Attempted to use a disabled opcode"), lambda w: spending(w, "disabled")),
    case(
        "dummy-not-null",
        SCRIPT_FAILED.format("Dummy CHECKMULTISIG argument must be zero"),
        lambda w: spending(w, "multisig", b"\x51\x00"),
    ),
    case(
        "signature-not-der",
        SCRIPT_FAILED.format("Non-canonical DER signature"),
        lambda w: spending(w, "pkh", push(bytes(9)) + push(KEY.public)),
    ),
    case(
        "lock-time-too-low",
        SCRIPT_FAILED.format("Locktime requirement not satisfied"),
        lambda w: spending(w, "cltv", lock_time=10),
    ),
    case(
        "sequence-too-low",
        SCRIPT_FAILED.format("Locktime requirement not satisfied"),
        lambda w: spending(w, "csv", sequence=1),
    ),
]


def child_first(world: World) -> Built:
    parent = spend([world.coin("true")])
    return make_block(world.tip, [spend([build.spendable(parent, 0)]), parent])


def spends_own_coinbase(world: World) -> Built:
    coinbase = make_coinbase(world.tip.height + 1)
    return make_block(world.tip, [spend([build.spendable(coinbase, 0)])], coinbase=coinbase)


@pytest.mark.parametrize(
    ("reason", "make"),
    HEADER_CASES + STRUCTURE_CASES + TRANSACTION_CASES + CONTEXT_CASES + CONNECT_CASES + SCRIPT_CASES,
)
def test_refused(refusing_world: World, reason: str, make: Callable[[World], Built]) -> None:
    assert refusing_world.give(make(refusing_world)) == reason
    assert refusing_world.tip_hash == refusing_world.tip.hash
