"""The parameters of the five networks, declared again: a changed constant must be noticed."""

import pytest

from clarion.node.params.chain_params import CHAIN_NAMES, network_of_magic, select_params
from clarion.node.primitives.ids import hash_to_hex
from clarion.node.script.flags import SCRIPT_VERIFY_NONE, SCRIPT_VERIFY_P2SH, SCRIPT_VERIFY_WITNESS

SATOSHI_ROOT = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b"
GENESIS = {
    "main": ("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f", SATOSHI_ROOT),
    "test": ("000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943", SATOSHI_ROOT),
    "testnet4": (
        "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
        "7aa0a7ae1e223414cb807e40cd57e667b718e42aaf9306db9102fe28912b7b4e",
    ),
    "signet": ("00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6", SATOSHI_ROOT),
    "regtest": ("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206", SATOSHI_ROOT),
}
WIRE = {  # message start, P2P port, RPC port, onion port, folder, bech32 prefix
    "main": ("f9beb4d9", 8333, 8332, 8334, "", "bc"),
    "test": ("0b110907", 18333, 18332, 18334, "testnet3", "tb"),
    "testnet4": ("1c163f28", 48333, 48332, 48334, "testnet4", "tb"),
    "signet": ("0a03cf40", 38333, 38332, 38334, "signet", "tb"),
    "regtest": ("fabfb5da", 18444, 18443, 18445, "regtest", "bcrt"),
}
HEIGHTS = {  # BIP34, BIP66, BIP65, CSV, segwit
    "main": (227931, 363725, 388381, 419328, 481824),
    "test": (21111, 330776, 581885, 770112, 834624),
    "testnet4": (1, 1, 1, 1, 1),
    "signet": (1, 1, 1, 1, 1),
    "regtest": (1, 1, 1, 1, 0),
}
POW = {  # limit, timespan, minimum difficulty rule, no retargeting, BIP94, halving interval
    "main": ((1 << 224) - 1, 1209600, False, False, False, 210000),
    "test": ((1 << 224) - 1, 1209600, True, False, False, 210000),
    "testnet4": ((1 << 224) - 1, 1209600, True, False, True, 210000),
    "signet": (0x0377AE << 216, 1209600, False, False, False, 210000),
    "regtest": ((1 << 255) - 1, 86400, True, True, False, 150),
}
CHAINWORK = {
    "main": "1128750f82f4c366153a3a030",
    "test": "17dde1c649f3708d14b6",
    "testnet4": "9a0fe15d0177d086304",
    "signet": "b463ea0a4b8",
    "regtest": "0",
}
ASSUME_VALID = {
    "main": "00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac",
    "test": "000000007a61e4230b28ac5cb6b5e5a0130de37ac1faf2f8987d2fa6505b67f4",
    "testnet4": "0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a",
    "signet": "00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329",
    "regtest": None,
}
SNAPSHOTS = {  # height: transactions
    "main": {840000: 991032194, 880000: 1145604538, 910000: 1226586151, 935000: 1305397408},
    "test": {2500000: 66484552, 4840000: 536078574},
    "testnet4": {90000: 11347043, 120000: 14141057},
    "signet": {160000: 2289496, 290000: 28547497},
    "regtest": {110: 111, 200: 201, 299: 334},
}

every_network = pytest.mark.parametrize("name", CHAIN_NAMES)


@every_network
def test_genesis_block_has_its_hash_and_root(name: str) -> None:
    genesis = select_params(name).genesis
    assert (hash_to_hex(genesis.hash), hash_to_hex(genesis.header.merkle_root)) == GENESIS[name]
    assert genesis.txs[0].outputs[0].value == 50 * 100_000_000


@every_network
def test_genesis_block_meets_its_target(name: str) -> None:
    params = select_params(name)
    bits = params.genesis.header.bits
    target = (bits & 0x7FFFFF) << 8 * ((bits >> 24) - 3)
    assert int.from_bytes(params.genesis.hash, "little") <= target <= params.pow_limit


@every_network
def test_wire_and_folder(name: str) -> None:
    params = select_params(name)
    found = (
        params.magic.hex(),
        params.default_port,
        params.rpc_port,
        params.onion_port,
        params.datadir_subfolder,
        params.bech32_hrp,
    )
    assert found == WIRE[name]
    assert params.is_test_chain == (name != "main")


@every_network
def test_buried_heights(name: str) -> None:
    params = select_params(name)
    assert tuple(params.buried_height(rule) for rule in ("bip34", "bip66", "bip65", "csv", "segwit")) == HEIGHTS[name]


@every_network
def test_proof_of_work_parameters(name: str) -> None:
    params = select_params(name)
    limit, *rest = POW[name]
    assert params.pow_limit == limit
    assert params.pow_target_spacing == 600
    found = [params.pow_target_timespan, params.allow_min_difficulty, params.no_retargeting]
    assert [*found, params.enforce_bip94, params.halving_interval] == rest


@every_network
def test_known_chain(name: str) -> None:
    params = select_params(name)
    assert f"{params.minimum_chainwork:x}" == CHAINWORK[name]
    assert (hash_to_hex(params.assume_valid) if params.assume_valid else None) == ASSUME_VALID[name]
    assert {snapshot.height: snapshot.chain_tx_count for snapshot in params.assume_utxo} == SNAPSHOTS[name]


@every_network
def test_testdummy_deployment(name: str) -> None:
    deployment = select_params(name).deployments["testdummy"]
    expected = {"main": 1815, "test": 1512, "testnet4": 1512, "signet": 1815, "regtest": 108}
    assert (deployment.bit, deployment.timeout) == (28, 2**63 - 1)
    assert deployment.threshold == expected[name]
    assert (deployment.period, deployment.start_time) == ((144, 0) if name == "regtest" else (2016, -2))


@every_network
def test_magic_names_its_network(name: str) -> None:
    assert network_of_magic(select_params(name).magic) == name


def test_unknown_magic_names_nothing() -> None:
    assert network_of_magic(b"\x00\x01\x02\x03") is None


def test_script_flag_exceptions() -> None:
    main = {hash_to_hex(key): flags for key, flags in select_params("main").script_flag_exceptions.items()}
    assert main == {
        "00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22": SCRIPT_VERIFY_NONE,
        "0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad": SCRIPT_VERIFY_P2SH | SCRIPT_VERIFY_WITNESS,
    }
    test = {hash_to_hex(key): flags for key, flags in select_params("test").script_flag_exceptions.items()}
    assert test == {"00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105": SCRIPT_VERIFY_NONE}


def test_bip34_hashes() -> None:
    main, test = select_params("main").bip34_hash, select_params("test").bip34_hash
    assert hash_to_hex(main) == "000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8"
    assert hash_to_hex(test) == "0000000023b3a96d3484e5abb3755c413e7d41500f8e2a5c3f0dd01299cd8ef8"
    assert select_params("regtest").bip34_hash == bytes(32)


@pytest.mark.parametrize(("name", "prefixes"), [("main", "000580"), ("test", "6fc4ef"), ("regtest", "6fc4ef")])
def test_base58_prefixes(name: str, prefixes: str) -> None:
    base58 = select_params(name).base58
    assert (base58.pubkey + base58.script + base58.secret).hex() == prefixes
    assert base58.ext_public.hex() == ("0488b21e" if name == "main" else "043587cf")
    assert base58.ext_secret.hex() == ("0488ade4" if name == "main" else "04358394")


def test_snapshot_is_found_by_height_and_by_hash() -> None:
    params = select_params("main")
    snapshot = params.assume_utxo_at(840_000)
    assert snapshot is not None
    assert params.assume_utxo_of(snapshot.block_hash) is snapshot
    assert params.assume_utxo_at(840_001) is None
