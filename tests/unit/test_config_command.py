"""`raquo config`: what is in force, who said so, and files that can be relied on."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from raquo.distributor.commands.config import config as command
from raquo.distributor.config import Config
from raquo.distributor.config_keys import RULES, SECTIONS, model_of, setting_of
from raquo.distributor.config_sources import load
from raquo.distributor.config_text import default_file, toml
from raquo.router import settings as publishers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in ("RAQUO_CONFIG", "STATE_DIRECTORY", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments: str, **environ: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments, env=environ)


def settings(*arguments: str, **environ: str) -> dict[str, Any]:
    done = run("-o", "json", *arguments, **environ)
    assert done.exit_code == 0, done.stderr
    return {one["key"]: (one["value"], one["origin"]) for one in json.loads(done.stdout)["settings"]}


def test_every_setting_is_printed_with_its_origin(here: Path) -> None:
    (here / "raquo.toml").write_text('[log]\nlevel = "debug"\n[[weight]]\ntenant = "[red]a"\nweight = 2\n')
    done = run(RAQUO_DISTRIBUTOR__DISCOVER_EVERY="500ms")
    rows = {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in done.stdout.splitlines()}
    assert done.exit_code == 0
    assert rows["log.level"].split(maxsplit=1) == ['"debug"', "in raquo.toml"]
    assert rows["weight.1.tenant"].split(maxsplit=1) == ['"[red]a"', "in raquo.toml"]
    assert rows["defaults.max_length"].split() == ["1000", "default"]
    assert rows["distributor.discover_every"].split()[0] == '"500ms"'
    assert {f"distributor.{key}" for key in type(Config().distributor).model_fields} <= {*rows}


def test_programs_get_the_same_as_json(here: Path) -> None:
    (here / "other.toml").write_text('[distributor]\nhttp = "off"\n')
    found = settings("--config", "other.toml", "--url", "amqp://u:pw@h", RAQUO_DEFAULTS__POLICY="equal")
    assert found["distributor.http"] == ("off", "in other.toml")
    assert found["broker.url"] == ("amqp://u:***@h", "from --url")
    assert found["defaults.policy"] == ("equal", "from RAQUO_DEFAULTS__POLICY")
    assert found["distributor.round_every"] == ("auto", "default")
    assert json.loads(run("-o", "json", "--config", "other.toml").stdout)["file"] == "other.toml"


@pytest.mark.parametrize("output", ["table", "json"])
def test_secrets_are_masked(output: str) -> None:
    environ = {
        "RAQUO_BROKER__URL": '["amqp://u:secret@a", "amqp://u:secret@b"]',
        "RAQUO_BROKER__MANAGEMENT_URL": "http://u:secret@a",
        "RAQUO_DISTRIBUTOR__HTTP_TOKEN": "secret",
    }
    done = run("-o", output, **environ)
    assert done.exit_code == 0
    assert "***" in done.stdout
    assert "secret" not in done.stdout


def test_the_default_file_says_what_is_in_force_without_it(here: Path) -> None:
    before = load(environ={}).config
    (here / "raquo.toml").write_text(run("--default").stdout)
    loaded = load(environ={})
    assert loaded.place is not None
    assert loaded.config == before
    assert loaded.config.model_fields_set > {"broker", "defaults"}


def test_the_default_file_has_every_key_and_a_comment_for_it() -> None:
    lines = default_file().splitlines()
    for section in SECTIONS:
        for key in model_of(section).model_fields:
            start = lines.index(f"[{section}]")
            place = next(n for n in range(start, len(lines)) if lines[n].removeprefix("# ").startswith(f"{key} = "))
            assert lines[place - 1].startswith("# ")
    assert max(map(len, lines)) <= 120


def test_what_the_default_file_has_in_comments_is_right_too(here: Path) -> None:
    text = default_file().replace('url = "amqp://', 'url = "amqps://', 1)
    bare = [line.removeprefix("# ") for line in text.splitlines()]
    kept = [line for line in bare if line.startswith("[") or " = " in line.split('"')[0]]
    (here / "raquo.toml").write_text("\n".join(kept))
    config = load(environ={}).config
    assert (config.target[0].target, config.weight[0].thousandths) == ("worker-*", 5000)
    assert config.broker.management_url == ("http://localhost:15672",)


def test_publishers_read_the_default_file_as_well(here: Path) -> None:
    before = publishers.load(environ={})
    (here / "raquo.toml").write_text(default_file())
    assert publishers.load(environ={}) == before


def test_a_file_is_checked_without_a_broker(here: Path) -> None:
    (here / "good.toml").write_text('[broker]\nurl = "amqp://nowhere.invalid"\n')
    done = run("--check", "good.toml")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "good.toml is right\n", "")


@pytest.mark.parametrize("arguments", [["--check", "bad.toml"], ["--config", "bad.toml"]])
def test_a_mistake_is_one_line_and_exit_code_two(arguments: list[str], here: Path) -> None:
    (here / "bad.toml").write_text('[defaults]\npolicy = "fair"\n')
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    expected = "expected one of weighted, equal, or module:attribute of your own (in bad.toml)"
    assert done.stderr == f"defaults.policy = 'fair': {expected}\n"


def test_a_file_that_is_not_there_is_a_mistake() -> None:
    done = run("--check", "missing.toml")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "cannot read the configuration missing.toml" in done.stderr


def test_one_question_at_a_time() -> None:
    done = run("--default", "--schema")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "ask one" in done.stderr


def test_the_schema_knows_every_key_of_the_default_file_and_what_it_may_be() -> None:
    schema = json.loads(run("--schema").stdout)
    for section, table in tomllib.loads(default_file()).items():
        model = schema["$defs"][schema["properties"][section]["$ref"].rpartition("/")[2]]
        assert model["additionalProperties"] is False
        for key, value in table.items():
            assert _fits(value, model["properties"][key]), f"{section}.{key}"
            assert model["properties"][key]["description"]
            assert _fits(model["properties"][key].get("default", value), model["properties"][key])


def test_the_documentation_has_every_key_with_its_default() -> None:
    parts = dict(part.split("\n", 1) for part in PAGE.read_text(encoding="utf-8").split("\n## ") if "\n" in part)
    for name in SECTIONS:
        for key, field in model_of(name).model_fields.items():
            row = next(line for line in parts[f"[{name}]"].splitlines() if line.startswith(f"| `{key}` |"))
            written = toml(setting_of(name, key).write(field.get_default(call_default_factory=True)))
            assert field.examples or row.split(" | ")[2] == f"`{written}`", row
    for name in RULES:
        assert f"[[{name}]]" in parts
    assert all(f"| `{key}` |" in parts["[[weight]]"] for key in model_of("weight").model_fields)


def _fits(value: object, schema: dict[str, Any]) -> bool:
    """Enough of a validator for the forms that our schema has."""
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    kinds = {"string": str, "array": list, "integer": int, "number": (int, float), "boolean": bool, "object": dict}
    fits = isinstance(value, kinds[schema["type"]]) if "type" in schema else True
    return fits and value in schema.get("enum", [value]) and value == schema.get("const", value)


@pytest.mark.parametrize("value", ['a »"\\\n', 5, 0.5, True, ["a", "b"], {"x-max-length": 5, "a b": ["c"]}])
def test_values_are_written_as_toml(value: object) -> None:
    assert tomllib.loads(f"key = {toml(value)}")["key"] == value
