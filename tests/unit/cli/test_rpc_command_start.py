"""clarion-cli starts for each call: what it imports is what a script waits for, hundreds of times."""

import subprocess
import sys

CALL = """
import sys
from clarion.node import rpc_cli
status = rpc_cli.main(["-regtest", "-datadir=" + sys.argv[1], "-rpcport=1", "-named", "getblock", "blockhash=00", "verbosity=2"])
assert status == 1
print(" ".join(sys.modules))
"""


def test_a_call_loads_neither_the_methods_nor_the_large_libraries(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    loaded = set(done.stdout.decode().split())
    assert "clarion.node.rpc_arguments" in loaded
    assert not loaded & {
        "clarion.api",
        "clarion.node.config",
        "asyncio",
        "importlib.metadata",
        "sqlalchemy",
    }
