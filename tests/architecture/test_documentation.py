"""Options and RPC methods are documented and tested, and links in the documentation lead somewhere."""

import re
from pathlib import Path

import pytest
import write_reference

from clarion.api.rest.endpoint import ROUTES
from clarion.api.rest.route import RestRoute
from clarion.api.rpc import registry
from clarion.api.rpc.node_methods import load_methods
from clarion.node.options.option import Effect
from clarion.node.options.table import OptionTable
from helpers.shared import PROJECT_ROOT
from helpers.source_tree import PACKAGE_FOLDERS, python_files, text_of

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PAGES = [
    *sorted(PROJECT_ROOT.glob("*.md")),
    *sorted((PROJECT_ROOT / "docs").rglob("*.md")),
    *sorted((PROJECT_ROOT / "examples").rglob("*.md")),
]

load_methods()


def name_of(path: Path) -> str:
    return path.relative_to(PROJECT_ROOT).as_posix()


def test_reference_pages_follow_from_the_code() -> None:
    """Renew them with tools/write_reference.py."""
    assert write_reference.outdated() == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.prefix)
def test_rest_path_is_documented_and_tested(suite_text: str, route: RestRoute) -> None:
    assert f"/rest/{route.prefix.removeprefix('/rest/')}" in (PROJECT_ROOT / "docs" / "rest.md").read_text()
    assert route.prefix.strip("/").removeprefix("rest/") in suite_text


@pytest.fixture(scope="session")
def suite_text() -> str:
    """Return the text of all tests but these."""
    return "\n".join(text_of(path) for path in python_files("tests") if "architecture" not in path.parts)


@pytest.mark.parametrize("method", [method.name for method in registry.public_methods()])
def test_rpc_method_is_tested(suite_text: str, method: str) -> None:
    assert re.search(rf"\b{method}\b", suite_text)


ACTIVE_OPTIONS = [option.name for option in OptionTable() if option.effect is Effect.ACTIVE]


@pytest.mark.parametrize("option", ACTIVE_OPTIONS)
def test_option_has_a_reader(option: str) -> None:
    """An option that says it does something is read somewhere outside the table of options."""
    readers = python_files(*PACKAGE_FOLDERS)
    tables = {"node_options.py", "network_options.py", "service_options.py", "inert_options.py"}
    word = re.compile(rf"""["'{{-]{option}\b|zmqpub\{{""")
    assert any(word.search(text_of(path)) for path in readers if path.name not in tables)
