"""The parameters of the five networks, as Bitcoin Core 31 has them.

Owns: the values. Never: rules, or the options that change them (`chain_params`).
"""

from clarion.node.params.genesis import TESTNET4_MESSAGE, make_genesis
from clarion.node.params.model import (
    NEVER_ACTIVE,
    NO_TIMEOUT,
    AssumeUtxo,
    Base58Prefixes,
    ChainParams,
    ChainTxData,
    Deployment,
    HeadersSyncParams,
)
from clarion.node.primitives.codec import var_bytes
from clarion.node.primitives.hashes import sha256d
from clarion.node.primitives.ids import BlockHash, hash_from_hex

# Script flags by their bits: `params` lies below `script`, whose constants a test compares with these.
_P2SH_AND_WITNESS = 1 << 0 | 1 << 11

_POW_LIMIT = (1 << 224) - 1
_POW_LIMIT_SIGNET = 0x0377AE << 216
_POW_LIMIT_REGTEST = (1 << 255) - 1

DEFAULT_SIGNET_CHALLENGE = bytes.fromhex(
    "512103ad5e0edad18cb1f0fc0d28a3d4f1f3e445640337489abb10404f2d1e086be430"
    "210359ef5021964fe22d6f8e05b2463c9540ce96883fe3b278760f048f5189f2e6c452ae"
)

_MAIN_BASE58 = Base58Prefixes(
    pubkey=b"\x00", script=b"\x05", secret=b"\x80", ext_public=b"\x04\x88\xb2\x1e", ext_secret=b"\x04\x88\xad\xe4"
)
_TEST_BASE58 = Base58Prefixes(
    pubkey=b"\x6f", script=b"\xc4", secret=b"\xef", ext_public=b"\x04\x35\x87\xcf", ext_secret=b"\x04\x35\x83\x94"
)


def _hash(text: str) -> BlockHash:
    return BlockHash(hash_from_hex(text))


def _snapshot(height: int, hash_serialized: str, chain_tx_count: int, block_hash: str) -> AssumeUtxo:
    return AssumeUtxo(height, hash_from_hex(hash_serialized), chain_tx_count, _hash(block_hash))


def _testdummy(threshold: int, *, period: int = 2016, start_time: int = NEVER_ACTIVE) -> dict[str, Deployment]:
    return {"testdummy": Deployment(28, start_time, NO_TIMEOUT, 0, period, threshold)}


def main_params() -> ChainParams:
    """Return the parameters of the main network."""
    return ChainParams(
        name="main",
        datadir_subfolder="",
        magic=bytes.fromhex("f9beb4d9"),
        default_port=8333,
        rpc_port=8332,
        genesis=make_genesis(1231006505, 2083236893, 0x1D00FFFF),
        pow_limit=_POW_LIMIT,
        bip34_height=227_931,
        bip34_hash=_hash("000000000000024b89b42a942fe0d9fea3bb44ab7bd1b19115dd6a759c0808b8"),
        bip65_height=388_381,
        bip66_height=363_725,
        csv_height=419_328,
        segwit_height=481_824,
        deployments=_testdummy(1815),
        min_bip9_warning_height=711_648,
        script_flag_exceptions={
            # Spends a P2SH output without satisfying its script (BIP16).
            _hash("00000000000002dc756eebf4f49723ed8d30cc28a5f108eb94b1ba88ac4f9c22"): 0,
            # Spends a witness v1 output as anyone can spend, before taproot activated.
            _hash("0000000000000000000f14c35b2d841e986ab5441de8c585d5ffe55ea1e395ad"): _P2SH_AND_WITNESS,
        },
        minimum_chainwork=0x1128750F82F4C366153A3A030,
        assume_valid=_hash("00000000000000000000ccebd6d74d9194d8dcdc1d177c478e094bfad51ba5ac"),  # 938,343
        assume_utxo=(
            _snapshot(
                840_000,
                "a2a5521b1b5ab65f67818e5e8eccabb7171a517f9e2382208f77687310768f96",
                991_032_194,
                "0000000000000000000320283a032748cef8227873ff4872689bf23f1cda83a5",
            ),
            _snapshot(
                880_000,
                "dbd190983eaf433ef7c15f78a278ae42c00ef52e0fd2a54953782175fbadcea9",
                1_145_604_538,
                "000000000000000000010b17283c3c400507969a9c2afd1dcf2082ec5cca2880",
            ),
            _snapshot(
                910_000,
                "4daf8a17b4902498c5787966a2b51c613acdab5df5db73f196fa59a4da2f1568",
                1_226_586_151,
                "0000000000000000000108970acb9522ffd516eae17acddcb1bd16469194a821",
            ),
            _snapshot(
                935_000,
                "e4b90ef9eae834f56c4b64d2d50143cee10ad87994c614d7d04125e2a6025050",
                1_305_397_408,
                "0000000000000000000147034958af1652b2b91bba607beacc5e72a56f0fb5ee",
            ),
        ),
        tx_data=ChainTxData(1772055173, 1_315_805_869, 5.40111006496122),
        headers_sync=HeadersSyncParams(641, 15_218),
        base58=_MAIN_BASE58,
        bech32_hrp="bc",
        dns_seeds=(
            "dnsseed.bluematt.me.",
            "seed.bitcoin.jonasschnelli.ch.",
            "seed.btc.petertodd.net.",
            "seed.bitcoin.sprovoost.nl.",
            "dnsseed.emzy.de.",
            "seed.bitcoin.wiz.biz.",
            "seed.mainnet.achownodes.xyz.",
        ),
        prune_after_height=100_000,
        assumed_blockchain_size_gb=856,
        assumed_chain_state_size_gb=14,
    )


def testnet3_params() -> ChainParams:
    """Return the parameters of testnet3."""
    return ChainParams(
        name="test",
        datadir_subfolder="testnet3",
        magic=bytes.fromhex("0b110907"),
        default_port=18333,
        rpc_port=18332,
        genesis=make_genesis(1296688602, 414098458, 0x1D00FFFF),
        pow_limit=_POW_LIMIT,
        allow_min_difficulty=True,
        bip34_height=21_111,
        bip34_hash=_hash("0000000023b3a96d3484e5abb3755c413e7d41500f8e2a5c3f0dd01299cd8ef8"),
        bip65_height=581_885,
        bip66_height=330_776,
        csv_height=770_112,
        segwit_height=834_624,
        deployments=_testdummy(1512),
        min_bip9_warning_height=2_013_984,
        script_flag_exceptions={
            # Spends a P2SH output without satisfying its script (BIP16).
            _hash("00000000dd30457c001f4095d208cc1296b0eed002427aa599874af7a432b105"): 0,
        },
        minimum_chainwork=0x17DDE1C649F3708D14B6,
        assume_valid=_hash("000000007a61e4230b28ac5cb6b5e5a0130de37ac1faf2f8987d2fa6505b67f4"),  # 4,842,348
        assume_utxo=(
            _snapshot(
                2_500_000,
                "f841584909f68e47897952345234e37fcd9128cd818f41ee6c3ca68db8071be7",
                66_484_552,
                "0000000000000093bcb68c03a9a168ae252572d348a2eaeba2cdf9231d73206f",
            ),
            _snapshot(
                4_840_000,
                "ce6bb677bb2ee9789c4a1c9d73e6683c53fc20e8fdbedbdaaf468982a0c8db2a",
                536_078_574,
                "00000000000000f4971a7fb37fbdff89315b69a2e1920c467654a382f0d64786",
            ),
        ),
        tx_data=ChainTxData(1772051651, 536_108_416, 0.02691479016257117),
        headers_sync=HeadersSyncParams(673, 14_460),
        base58=_TEST_BASE58,
        bech32_hrp="tb",
        dns_seeds=(
            "testnet-seed.bitcoin.jonasschnelli.ch.",
            "seed.tbtc.petertodd.net.",
            "seed.testnet.bitcoin.sprovoost.nl.",
            "testnet-seed.bluematt.me.",
            "seed.testnet.achownodes.xyz.",
        ),
        assumed_blockchain_size_gb=245,
        assumed_chain_state_size_gb=19,
    )


def testnet4_params() -> ChainParams:
    """Return the parameters of testnet4 (BIP94)."""
    return ChainParams(
        name="testnet4",
        datadir_subfolder="testnet4",
        magic=bytes.fromhex("1c163f28"),
        default_port=48333,
        rpc_port=48332,
        genesis=make_genesis(1714777860, 393743547, 0x1D00FFFF, message=TESTNET4_MESSAGE, pubkey=bytes(33)),
        pow_limit=_POW_LIMIT,
        allow_min_difficulty=True,
        enforce_bip94=True,
        deployments=_testdummy(1512),
        minimum_chainwork=0x9A0FE15D0177D086304,
        assume_valid=_hash("0000000002368b1e4ee27e2e85676ae6f9f9e69579b29093e9a82c170bf7cf8a"),  # 123,613
        assume_utxo=(
            _snapshot(
                90_000,
                "784fb5e98241de66fdd429f4392155c9e7db5c017148e66e8fdbc95746f8b9b5",
                11_347_043,
                "0000000002ebe8bcda020e0dd6ccfbdfac531d2f6a81457191b99fc2df2dbe3b",
            ),
            _snapshot(
                120_000,
                "10b05d05ad468d0971162e1b222a4aa66caca89da2bb2a93f8f37fb29c4794b0",
                14_141_057,
                "000000000bd2317e51b3c5794981c35ba894ce27d3e772d5c39ecd9cbce01dc8",
            ),
        ),
        tx_data=ChainTxData(1772013387, 14_191_421, 0.01848579579528412),
        headers_sync=HeadersSyncParams(606, 16_092),
        base58=_TEST_BASE58,
        bech32_hrp="tb",
        dns_seeds=("seed.testnet4.bitcoin.sprovoost.nl.", "seed.testnet4.wiz.biz."),
        assumed_blockchain_size_gb=31,
        assumed_chain_state_size_gb=2,
    )


def signet_params(challenge: bytes | None = None, seeds: tuple[str, ...] | None = None) -> ChainParams:
    """Return the parameters of the public signet, or of the one that `challenge` defines (BIP325).

    The four message-start bytes are the first of the challenge's hash, so every challenge is a network of its own.
    """
    public = challenge is None
    script = DEFAULT_SIGNET_CHALLENGE if challenge is None else challenge
    default_seeds = ("seed.signet.bitcoin.sprovoost.nl.", "seed.signet.achownodes.xyz.") if public else ()
    return ChainParams(
        name="signet",
        datadir_subfolder="signet",
        magic=sha256d(var_bytes(script))[:4],
        default_port=38333,
        rpc_port=38332,
        genesis=make_genesis(1598918400, 52613770, 0x1E0377AE),
        pow_limit=_POW_LIMIT_SIGNET,
        deployments=_testdummy(1815),
        minimum_chainwork=0xB463EA0A4B8 if public else 0,
        assume_valid=(
            _hash("00000008414aab61092ef93f1aacc54cf9e9f16af29ddad493b908a01ff5c329") if public else None  # 293,175
        ),
        assume_utxo=(
            _snapshot(
                160_000,
                "fe0a44309b74d6b5883d246cb419c6221bcccf0b308c9b59b7d70783dbdf928a",
                2_289_496,
                "0000003ca3c99aff040f2563c2ad8f8ec88bd0fd6b8f0895cfaf1ef90353a62c",
            ),
            _snapshot(
                290_000,
                "97267e000b4b876800167e71b9123f1529d13b14308abec2888bbd2160d14545",
                28_547_497,
                "0000000577f2741bb30cd9d39d6d71b023afbeb9764f6260786a97969d5c9ac0",
            ),
        ),
        tx_data=ChainTxData(1772055248, 28_676_833, 0.06736623436338929) if public else ChainTxData(0, 0, 0.0),
        headers_sync=HeadersSyncParams(620, 15_724),
        signet_challenge=script,
        base58=_TEST_BASE58,
        bech32_hrp="tb",
        dns_seeds=default_seeds if seeds is None else seeds,
        assumed_blockchain_size_gb=24 if public else 0,
        assumed_chain_state_size_gb=4 if public else 0,
    )


def regtest_params(*, fastprune: bool = False, enforce_bip94: bool = False) -> ChainParams:
    """Return the parameters of the regression test network, where a block is found in a few tries."""
    return ChainParams(
        name="regtest",
        datadir_subfolder="regtest",
        magic=bytes.fromhex("fabfb5da"),
        default_port=18444,
        rpc_port=18443,
        genesis=make_genesis(1296688602, 2, 0x207FFFFF),
        pow_limit=_POW_LIMIT_REGTEST,
        pow_target_timespan=24 * 60 * 60,
        allow_min_difficulty=True,
        no_retargeting=True,
        enforce_bip94=enforce_bip94,
        halving_interval=150,
        segwit_height=0,
        deployments=_testdummy(108, period=144, start_time=0),
        assume_utxo=(
            _snapshot(
                110,
                "86e9a1205b418b16dde3a18a78c730e30137e28466bda5dbf6b33ab8fc05447c",
                111,
                "135eec25a6fb277884e5824e7aa7d052c4868161c99a5122170b5266f86c273d",
            ),
            _snapshot(
                200,
                "17dcc016d188d16068907cdeb38b75691a118d43053b8cd6a25969419381d13a",
                201,
                "385901ccbd69dff6bbd00065d01fb8a9e464dede7cfe0372443884f9b1dcf6b9",
            ),
            _snapshot(
                299,
                "106b2c56233e378a824cf0d5ff2be42ed32c72f1605c9be288d00942908a40ac",
                334,
                "0c552ced4721c249a389eb9b08cb8da261cd46f0e7b5f9d064d48f3113406853",
            ),
        ),
        tx_data=ChainTxData(0, 0, 0.001),
        headers_sync=HeadersSyncParams(275, 7_017),
        base58=_TEST_BASE58,
        bech32_hrp="bcrt",
        dns_seeds=("dummySeed.invalid.",),
        prune_after_height=100 if fastprune else 1000,
        is_mockable_chain=True,
        default_consistency_checks=True,
    )
