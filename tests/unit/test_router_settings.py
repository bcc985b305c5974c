"""What a publisher reads of the configuration, and how mistakes in it read."""

from pathlib import Path

import pytest

from raquo.router.errors import BadConfiguration
from raquo.router.settings import BrokerSettings, RouterSettings, Settings, StagingSettings, load


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, here: Path, **environ: str) -> Settings:
    (here / "raquo.toml").write_text(text, encoding="utf-8")
    return load(environ=environ)


def test_without_a_file_the_defaults_hold(here: Path) -> None:
    settings = load(environ={})
    assert settings == Settings(BrokerSettings(), RouterSettings(), StagingSettings())
    assert settings.router == RouterSettings(("tenant", "workflow"), ("*",), "direct", "stage")
    assert settings.staging == StagingSettings("like-target", {}, "never")


def test_every_key_of_the_three_sections_is_read(here: Path) -> None:
    settings = read(
        """
        [broker]
        url = ["amqps://a/%2f", "amqps://b"]
        management_url = "https://a:15671"
        ca = "ca.pem"
        cert = "cert.pem"
        key = "key.pem"
        verify = false
        [router]
        mutators = ["customer"]
        targets = ["w*"]
        untenanted = "stage"
        mode = "shadow"
        [staging]
        queue_type = "quorum"
        arguments = {x-max-length = 1000}
        idle_ttl = "7d"
        """,
        here,
    )
    urls = (("amqps://a/%2f", "amqps://b"), ("https://a:15671",))
    assert settings.broker == BrokerSettings(*urls, "ca.pem", "cert.pem", "key.pem", False)
    assert settings.router == RouterSettings(("customer",), ("w*",), "stage", "shadow")
    assert settings.staging == StagingSettings("quorum", {"x-max-length": 1000}, "7d")


def test_sections_of_others_are_not_looked_at(here: Path) -> None:
    assert read('[distributor]\nanything = 1\n[[target]]\ntarget = "x"\n', here) == load(environ={})


def test_a_file_is_looked_for_in_order(here: Path) -> None:
    for name, mode in [("raquo.toml", "off"), ("named.toml", "shadow"), ("given.toml", "stage")]:
        (here / name).write_text(f'[router]\nmode = "{mode}"\n')
    environ = {"RAQUO_CONFIG": "named.toml"}
    assert load(environ={}).router.mode == "off"
    assert load(environ=environ).router.mode == "shadow"
    assert load("given.toml", environ).router.mode == "stage"


def test_the_environment_goes_over_the_file(here: Path) -> None:
    settings = read(
        '[router]\nmode = "off"\ntargets = ["a"]\n[broker]\nurl = "amqp://file"\n',
        here,
        RAQUO_ROUTER__MODE="shadow",
        RAQUO_ROUTER__MUTATORS="tenant, region",
        RAQUO_BROKER__URL='["amqp://one", "amqp://two"]',
        RAQUO_BROKER__VERIFY="False",
        RAQUO_STAGING__QUEUE_TYPE="classic",
        RAQUO_STAGING__ARGUMENTS='{"x-queue-mode": "lazy"}',
    )
    assert settings.router == RouterSettings(("tenant", "region"), ("a",), "direct", "shadow")
    assert (settings.broker.url, settings.broker.verify) == (("amqp://one", "amqp://two"), False)
    assert settings.staging == StagingSettings("classic", {"x-queue-mode": "lazy"})


def test_variables_of_others_are_not_looked_at(here: Path) -> None:
    environ = {
        "RAQUO_PORT": "tcp://10.0.0.1:15690",
        "RAQUO_ROUTER_SERVICE_HOST": "10.0.0.1",
        "RAQUO_DEFAULTS__POLICY": "equal",
        "RAQUO_ROUTER__MODE": "",
    }
    assert load(environ=environ) == load(environ={})


def test_a_secret_may_be_in_a_file(here: Path) -> None:
    (here / "secret").write_text("amqp://u:p@h\n")
    assert load(environ={"RAQUO_BROKER__URL_FILE": "secret"}).broker.url == ("amqp://u:p@h",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[router]\nmod = 'off'", "router.mod = 'off': no such setting, expected mode (in raquo.toml)"),
        ("[router]\nmode = 'of'", "router.mode = 'of': expected one of stage, shadow, off (in raquo.toml)"),
        ("[router]\nmode = 1", "router.mode = 1: expected one of stage, shadow, off"),
        ("[router]\nmode = []", "router.mode = []: expected one of stage, shadow, off"),
        ("[router]\ntargets = 'w*'", "router.targets = 'w*': expected a list of texts, at least one"),
        ("[router]\ntargets = []", "router.targets = []: expected a list of texts, at least one"),
        ("[router]\nmutators = ['a', 1]", "router.mutators = ['a', 1]: expected a list of texts"),
        ("[router]\nmutators = ['']", "router.mutators = ['']: expected a list of texts"),
        ("router = 1", "router = 1: expected a section [router] (in raquo.toml)"),
        ("[staging]\nqueue_type = 'stream'", "expected one of like-target, classic, quorum"),
        ("[staging]\narguments = 'x'", "staging.arguments = 'x': expected a table"),
        ("[staging]\nidle_ttl = 7", 'staging.idle_ttl = 7: expected "never", or a duration such as'),
        ("[staging]\nidle_ttl = '7 days'", "staging.idle_ttl = '7 days': expected"),
        ("[broker]\nverify = 'no'", "broker.verify = 'no': expected true or false"),
        ("[broker]\nca = ''", "broker.ca = '': expected a text"),
        ("[broker]\nurl = 'localhost'", "broker.url = 'localhost': expected a URL that begins with amqp://"),
        ("[broker]\nurl = []", "broker.url = []: expected a URL"),
        ("[broker]\nurl = 5", "broker.url = 5: expected a URL"),
        ("[broker]\nurl = 'amqp://h:port'", "broker.url = 'amqp://h:port': expected a URL"),
        ("[broker]\nmanagement_url = 'amqp://h'", "expected a URL that begins with http:// or https://"),
        ("[broker\n", "raquo.toml is not TOML"),
    ],
)
def test_a_mistake_is_one_line_with_key_value_and_what_was_expected(
    text: str, words: str, here: Path
) -> None:
    with pytest.raises(BadConfiguration) as caught:
        read(text, here)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("RAQUO_ROUTER__MODE", "x", "one of stage, shadow, off (from RAQUO_ROUTER__MODE)"),
        ("RAQUO_ROUTER__MOOD", "x", "no such setting, expected mode (from RAQUO_ROUTER__MOOD)"),
        ("RAQUO_STAGING__ARGUMENTS", "{", "staging.arguments = '{': expected a table"),
        ("RAQUO_BROKER__VERIFY", "perhaps", "broker.verify = 'perhaps': expected true or false"),
        ("RAQUO_BROKER__URL_FILE", "missing", "cannot read missing, which RAQUO_BROKER__URL_FILE names"),
        ("RAQUO_CONFIG", "missing.toml", "cannot read the configuration missing.toml: No such file"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    variable: str, value: str, words: str, here: Path
) -> None:
    with pytest.raises(BadConfiguration) as caught:
        load(environ={variable: value})
    assert words in str(caught.value)


def test_a_value_and_a_file_for_it_are_one_too_many(here: Path) -> None:
    with pytest.raises(BadConfiguration, match="RAQUO_BROKER__URL_FILE and RAQUO_BROKER__URL are both set"):
        load(environ={"RAQUO_BROKER__URL": "amqp://h", "RAQUO_BROKER__URL_FILE": "x"})


@pytest.mark.parametrize(
    "url", ["'http://user:secret@h'", "['amqp://h', 'x://user:se@cr, et@h']", "'u:cret@h'"]
)
def test_errors_and_settings_show_no_password(url: str, here: Path) -> None:
    with pytest.raises(BadConfiguration) as caught:
        read(f"[broker]\nurl = {url}", here)
    assert "cr" not in str(caught.value)
    assert "secret" not in repr(read("[broker]\nurl = 'amqp://u:secret@h'", here))
