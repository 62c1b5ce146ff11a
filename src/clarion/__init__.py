"""Clarion, a Bitcoin event node. The packages behind this name are links to the folders at the project's root."""


def __getattr__(name: str) -> str:
    # Looked up when it is asked for: every script worker imports this module, and none needs its version.
    if name != "__version__":
        raise AttributeError(f"module 'clarion' has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("clarion")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0.0.0"
