"""Places of addresses under the key that the reference has in its tests."""

import pytest

from clarion.node.net.address import Endpoint, as_cjdns
from clarion.node.net.address_manager.placement import Placement
from helpers.addresses import endpoint_of

PLACEMENT = Placement(b"\x01".ljust(32, b"\0"))


@pytest.mark.parametrize(
    ("text", "bucket", "position"),
    [
        ("2.0.0.0:8333", 82, 8),
        ("[fc00:1:2:3:4:5:6:7]:8333", 336, 24),
        ("c4gfnttsuwqomiygupdqqqyy5y5emnk5c73hrfvatri67prd7vyq.b32.i2p:8333", 963, 46),
        ("[2803:0:1234:abcd::1]:45324", 613, 6),
    ],
)
def test_places_of_new_addresses_that_tell_of_themselves(text: str, bucket: int, position: int) -> None:
    named = endpoint_of(text)
    endpoint = Endpoint(as_cjdns(named.address), named.port)
    assert PLACEMENT.new_bucket(endpoint, endpoint.address) == bucket
    assert PLACEMENT.position(endpoint, bucket, is_new=True) == position


@pytest.mark.parametrize(
    ("text", "bucket", "position"),
    [
        ("1.2.3.4:8333", 6, 33),
        ("[1233:3432:2434:2343:3234:2345:6546:4534]:8333", 197, 34),
        ("pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion:8333", 72, 61),
        ("nrfj6inpyf73gpkyool35hcmne5zwfmse3jl3aw23vk7chdemalyaqad.onion:45324", 139, 46),
    ],
)
def test_places_of_tried_addresses(text: str, bucket: int, position: int) -> None:
    endpoint = endpoint_of(text)
    assert PLACEMENT.tried_bucket(endpoint) == bucket
    assert PLACEMENT.position(endpoint, bucket, is_new=False) == position


def test_another_key_gives_other_places() -> None:
    other = Placement(bytes(31) + b"\x01")
    endpoints = [endpoint_of(f"1.2.{number}.4") for number in range(20)]
    assert [other.tried_bucket(each) for each in endpoints] != [PLACEMENT.tried_bucket(each) for each in endpoints]
