"""The documentation and the code say the same: links, metrics, settings, commands, options, states and reasons."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from raquo.broker.grant import Reason
from raquo.distributor.cli import app
from raquo.distributor.config import TargetSettings
from raquo.distributor.config_keys import RULES, SECTIONS, model_of
from raquo.distributor.metrics import Metrics
from raquo.distributor.status import QueueState
from raquo.distributor.telemetry import Moved, MoveFailed, Telemetry
from raquo.router.router import REASONS
from support.web import a_queue, a_target, seen

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
_PAGES = [*sorted(_ROOT.glob("*.md")), *sorted(_DOCS.glob("*.md")), *sorted((_ROOT / "deploy").rglob("*.md"))]
_DEPLOYED = [*sorted((_ROOT / "deploy").rglob("*.yaml")), *sorted((_ROOT / "deploy").rglob("*.json"))]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def sections_of(page: Path, level: str) -> dict[str, str]:
    """What stands under each heading of that level."""
    parts = re.split(rf"^{level} (.+)$", prose_of(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_cells(text: str) -> Iterator[str]:
    """The codes in the first column of the tables."""
    for cell in re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", cell)


def anchors_of(page: Path) -> set[str]:
    """The headings, as links spell them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


# Links


def links() -> Iterator[tuple[str, str]]:
    for page in _PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
            if "://" not in link:
                yield str(page.relative_to(_ROOT)), link


@pytest.mark.parametrize(("page", "link"), sorted(set(links())))
def test_a_link_leads_somewhere(page: str, link: str) -> None:
    path, _, anchor = link.partition("#")
    place = (_ROOT / page).parent / path if path else _ROOT / page
    assert place.exists()
    assert not anchor or anchor in anchors_of(place)


# Metrics


def exported() -> set[str]:
    """Every metric there is, by the name that queries use."""
    telemetry = Telemetry()
    status = seen(a_target(staging=(a_queue("acme", 1, oldest_age_seconds=1.0),)))
    metrics = Metrics(telemetry, lambda: status, "/", 5)
    telemetry.emit(Moved("worker-input", "worker-input»acme", "acme", 1, 1, 0, 0.1))
    telemetry.emit(MoveFailed("worker-input", "worker-input»acme", "refused", "full"))
    samples = re.findall(r"^(raquo_\w+)", metrics.render().decode(), flags=re.MULTILINE)
    return {_family(name) for name in samples}


def _family(name: str) -> str:
    return re.sub(r"_(bucket|count|sum)$", "", name)


def test_every_metric_is_in_the_table_and_nothing_else() -> None:
    table = sections_of(_DOCS / "metrics.md", "##")["Metrics"]
    assert {name for name in first_cells(table) if name.startswith("raquo_")} == exported()


@pytest.mark.parametrize("page", [*_PAGES, *_DEPLOYED], ids=lambda page: str(page.relative_to(_ROOT)))
def test_a_metric_that_a_page_speaks_of_exists(page: Path) -> None:
    told = {_family(name) for name in re.findall(r"\braquo_[a-z_]+[a-z]\b", text_of(page))}
    assert told <= exported()


def test_every_alert_is_in_the_table_and_nothing_else() -> None:
    alerts = re.findall(r"- alert: (\w+)", text_of(_ROOT / "deploy/prometheus/alerts.yaml"))
    assert list(first_cells(sections_of(_DOCS / "metrics.md", "##")["Alerts"])) == alerts


# Settings


@pytest.mark.parametrize("name", SECTIONS)
def test_every_setting_of_a_section_is_described_and_nothing_else(name: str) -> None:
    described = first_cells(sections_of(_DOCS / "configuration.md", "##")[f"[{name}]"])
    assert list(described) == list(model_of(name).model_fields)


@pytest.mark.parametrize("name", RULES)
def test_every_key_of_a_rule_is_described(name: str) -> None:
    described = sections_of(_DOCS / "configuration.md", "##")[f"[[{name}]]"]
    elsewhere = set(TargetSettings.model_fields) if name == "target" else set()  # "any of the keys of [defaults]"
    assert all(f"`{key}`" in described for key in model_of(name).model_fields if key not in elsewhere)


# Commands


def commands() -> dict[str, set[str]]:
    """Every command, and its options."""
    group = typer.main.get_command(app)
    found = getattr(group, "commands", {})
    return {
        name: {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
        for name, command in found.items()
    }


def test_every_command_has_its_place_and_nothing_else_has() -> None:
    page = sections_of(_DOCS / "commands.md", "##")
    described = {heading.removeprefix("raquo ") for heading in page if heading.startswith("raquo ")}
    assert described == set(commands()) - {"queues"}  # which is `status`, and hidden
    assert "raquo queues" in text_of(_DOCS / "commands.md")


def test_every_option_is_described() -> None:
    page = text_of(_DOCS / "commands.md")
    missing = {(name, option) for name, own in commands().items() for option in own if option not in page}
    assert not missing


@pytest.mark.parametrize("page", sorted({*_PAGES} - {_DOCS / "benchmarks.md"}), ids=lambda page: page.name)
def test_a_command_that_a_page_speaks_of_exists(page: Path) -> None:
    told = set(re.findall(r"(?:`|\$ |^)raquo ([a-z]+)\b", text_of(page), flags=re.MULTILINE))
    assert told <= set(commands())


# States and reasons


def reasons_in_code() -> set[str]:
    """The codes with which queues, targets and grants say why."""
    found = {reason.value for reason in Reason} | set(REASONS)
    for file in sorted((_ROOT / "distributor").rglob("*.py")):
        found |= set(_reasons_in(ast.parse(text_of(file))))
    return found


def _reasons_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Hold" | "Trouble"), args=[code, *_]):
                yield from _codes(code)
            case ast.Call(func=ast.Name(id="StagingStatus"), keywords=keywords):
                yield from (code for key in keywords if key.arg == "reason" for code in _codes(key.value))
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from _codes(value)
            case ast.Tuple(elts=[ast.Attribute(value=ast.Name(id="QueueState")), code, *_]):
                yield from _codes(code)


def _codes(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(code)):
            yield code
        case ast.IfExp(body=one, orelse=other):
            yield from _codes(one)
            yield from _codes(other)


def test_the_reasons_are_found_in_the_code() -> None:
    """One of each way in which code says them, so that the next test does not pass for having looked at nothing."""
    assert {"no_room", "target_missing", "stream_target", "weight_zero", "unmovable", "unacked", "returned",
            "untenanted"} <= reasons_in_code()  # fmt: skip


def test_every_reason_is_described() -> None:
    page = text_of(_DOCS / "commands.md")
    assert {reason for reason in reasons_in_code() if f"`{reason}`" not in page} == set()


def test_every_state_and_reason_that_is_described_exists() -> None:
    page = sections_of(_DOCS / "commands.md", "##")
    told = {*first_cells(page["States and reasons"]), *first_cells(page["raquo route"])}
    assert told == {code for code in reasons_in_code() if code not in ("complete", "under_full")} | set(QueueState)


def test_every_state_is_described_among_the_concepts() -> None:
    assert set(first_cells(sections_of(_DOCS / "concepts.md", "##")["States and reasons"])) == set(QueueState)
