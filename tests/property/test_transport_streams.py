"""A stream says the same however it is cut, on every transport and in every state of one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.targets import receive_stream


@settings(deadline=None)
@given(st.integers(0, 255), st.binary(max_size=300))
def test_any_bytes(chosen: int, stream: bytes) -> None:
    receive_stream(bytes((chosen,)) + stream)


@settings(deadline=None)
@given(st.integers(0, 255), st.binary(max_size=100), st.integers(0, 2**32 - 1))
def test_behind_a_good_header(chosen: int, payload: bytes, length: int) -> None:
    header = bytes.fromhex("fabfb5da") + b"ping".ljust(12, b"\0") + (length % 120).to_bytes(4, "little")
    receive_stream(bytes((chosen,)) + header + payload)
