"""What the distributor reads of the configuration, from where, and how mistakes in it read."""

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from raquo.broker.url import Tls
from raquo.distributor.config import Config, TargetSettings
from raquo.distributor.config_setting import mask_url
from raquo.distributor.config_sources import Loaded, load
from raquo.distributor.config_values import seconds_as_text
from raquo.distributor.errors import BadConfiguration
from raquo.router import settings as publishers


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


Read = Callable[..., Config]


@pytest.fixture
def read(here: Path) -> Read:
    """Reads a configuration from the usual file."""

    def read_text(text: str, **environ: str) -> Config:
        (here / "raquo.toml").write_text(text, encoding="utf-8")
        return load(environ={"HOME": "/home/somebody", **environ}).config

    return read_text


def mistake_in(here: Path, text: str = "", **environ: str) -> str:
    (here / "raquo.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadConfiguration) as caught:
        load(environ=environ)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Sections and values


def test_without_a_file_the_defaults_hold(here: Path) -> None:
    loaded = load(environ={"HOME": "/home/somebody"})
    config = loaded.config
    assert loaded.place is None
    assert set(loaded.origins.values()) == {"default"}
    assert config.defaults == TargetSettings(
        max_length=1000,
        max_unacked=None,
        min_room=1,
        policy="weighted",
        fair_by="tenant",
        transport="client",
        declare_missing=False,
        floor_share=0.5,
    )
    assert (config.target, config.weight, config.limit) == ((), (), ())
    assert (config.distributor.discover_every, config.distributor.round_every) == (2.0, None)
    assert (config.distributor.drain_timeout, config.distributor.http) == (10.0, ("127.0.0.1", 15690))
    assert (config.distributor.serve, config.distributor.serve_not) == (("*",), ())
    assert (config.metrics.top_tenants, config.log.level, config.log.format) == (20, "info", "auto")


def test_publishers_and_the_distributor_agree_on_what_they_both_read(here: Path) -> None:
    ours, theirs = load(environ={}).config, publishers.load(environ={})
    assert theirs.router.__class__(**dict(ours.router)) == theirs.router
    assert (ours.broker.url, ours.broker.verify) == (theirs.broker.url, theirs.broker.verify)
    assert (ours.staging.queue_type, ours.staging.arguments) == (theirs.staging.queue_type, theirs.staging.arguments)
    for section in ("broker", "router", "staging"):
        assert {*type(getattr(ours, section)).model_fields} == {*publishers._CHECKS[section]}


def test_every_section_is_read(read: Read) -> None:
    config = read(
        """
        [broker]
        url = ["amqps://u:p@a/v", "amqps://b/v"]
        management_url = "https://a:15671"
        ca = "ca.pem"
        cert = "cert.pem"
        key = "key.pem"
        verify = false
        [staging]
        arguments = {x-queue-mode = "lazy"}
        idle_ttl = "7d"
        [distributor]
        serve = ["worker-*"]
        serve_not = ["worker-x"]
        discover_every = "500ms"
        round_every = 0.05
        drain_timeout = "1m"
        state_dir = "~/state"
        http = "[::1]:0"
        http_token = "abc"
        http_hosts = ["raquo.example"]
        [metrics]
        top_tenants = 0
        [log]
        level = "debug"
        """
    )
    first, second = config.broker.urls()
    assert (first.host, first.user, first.password, first.vhost) == ("a", "u", "p", "v")
    assert second.tls == Tls("ca.pem", "cert.pem", "key.pem", False)
    assert config.broker.management_url == ("https://a:15671",)
    assert (config.staging.arguments, config.staging.idle_ttl) == ({"x-queue-mode": "lazy"}, 7 * 86400.0)
    daemon = config.distributor
    assert (daemon.serve, daemon.serve_not) == (("worker-*",), ("worker-x",))
    assert (daemon.discover_every, daemon.round_every, daemon.drain_timeout) == (0.5, 0.05, 60.0)
    assert daemon.state_dir == Path("~/state").expanduser()
    assert (daemon.http, daemon.http_token, daemon.http_hosts) == (("::1", 0), SecretStr("abc"), ("raquo.example",))
    assert (config.metrics.top_tenants, config.log.level) == (0, "debug")


def test_http_can_be_off(read: Read) -> None:
    assert read('[distributor]\nhttp = "off"').distributor.http is None


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Config().defaults.max_length = 5


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (0.5, "500ms"), (2, "2s"), (90, "90s"), (3600, "1h"), (604800, "7d")]
)
def test_a_duration_is_written_in_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert seconds_as_text(seconds) == text


# Settings of targets


def test_the_first_rule_that_says_something_about_a_key_decides(read: Read) -> None:
    config = read(
        """
        [defaults]
        floor_share = 0.1
        max_unacked = 77
        [[target]]
        target = "worker-a"
        max_length = 5
        max_unacked = "none"
        [[target]]
        target = "re:worker-[ab]"
        max_length = 6
        fair_by = "queue"
        [[target]]
        target = "worker-*"
        fair_by = "tenant"
        declare_missing = true
        """
    )
    found = {name: config.for_target(name) for name in ("worker-a", "worker-b", "worker-c", "mail")}
    assert [one.max_length for one in found.values()] == [5, 6, 1000, 1000]
    assert [one.max_unacked for one in found.values()] == [None, 77, 77, 77]
    assert [one.fair_by for one in found.values()] == ["queue", "queue", "tenant", "tenant"]
    assert [one.declare_missing for one in found.values()] == [True, True, True, False]
    assert {one.floor_share for one in found.values()} == {0.1}
    assert config.for_target("worker-a") is found["worker-a"]


def test_two_rules_never_ask_together_for_more_room_than_there_is(read: Read) -> None:
    config = read('[[target]]\ntarget = "a"\nmin_room = 50\n[[target]]\ntarget = "*"\nmax_length = 20\n')
    assert (config.for_target("a").min_room, config.for_target("b").min_room) == (20, 1)


def test_asking_for_targets_does_not_make_configurations_different() -> None:
    one, other = Config(), Config()
    one.for_target("a")
    assert one == other


def test_a_policy_of_ones_own_is_named_by_module_and_attribute(read: Read) -> None:
    name = "raquo.distributor.policies.equal:Equal"
    assert read(f'[defaults]\npolicy = "{name}"').defaults.policy == name
    with pytest.raises(BadConfiguration, match="cannot load the policy ours:Fair: ModuleNotFoundError"):
        read('[defaults]\npolicy = "ours:Fair"')
    with pytest.raises(BadConfiguration, match="json:dumps is no policy: it has no name, share, settle"):
        read('[defaults]\npolicy = "json:dumps"')


# Weights


@pytest.mark.parametrize(
    ("weight", "thousandths"), [("0", 0), ("0.001", 1), ("0.1", 100), ("1.005", 1005), ("5", 5000), ("1000", 1000000)]
)
def test_weights_are_exact_thousandths(weight: str, thousandths: int, read: Read) -> None:
    assert read(f'[[weight]]\ntenant = "a"\nweight = {weight}').weight[0].thousandths == thousandths


def test_a_mark_may_be_typed_as_two_brackets(read: Read) -> None:
    config = read('[[weight]]\nmatch = "^t>>gold"\nweight = 2\n[[weight]]\ntenant = "a>>b"\nweight = 2\n')
    assert config.weight[0].match == "^t»gold"
    assert config.weight[1].tenant == "a>>b"  # a tenant's own


EQUAL = '[[target]]\ntarget = "batch-1"\npolicy = "equal"\n'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (EQUAL + '[[weight]]\ntarget = "batch-1"\nweight = 2', "batch-1"),
        (EQUAL + '[[weight]]\ntarget = "batch-*"\ntenant = "a"\nweight = 2', "batch-1"),
        (EQUAL + '[[weight]]\ntarget = "re:batch-.*"\nweight = 2', "batch-1"),
        (EQUAL.replace("-1", "-*") + '[[weight]]\ntarget = "batch-7"\nweight = 2', "batch-7"),
        (EQUAL.replace("-1", "-*") + '[[weight]]\ntarget = "batch-*"\nweight = 2', "batch-*"),
        ('[defaults]\npolicy = "equal"\n[[weight]]\ntarget = "b?"\nweight = 2', "b?"),
    ],
)
def test_a_weight_for_a_target_that_ignores_weights_is_a_mistake(text: str, name: str, here: Path) -> None:
    words = f"expected a target whose policy heeds weights; {name} has the policy equal (in raquo.toml)"
    line = mistake_in(here, text)
    assert line.startswith("weight.1.target = '")
    assert line.endswith(words)


@pytest.mark.parametrize("rule", ['tenant = "a"', 'target = "*"', 'target = "mail"'])
def test_a_general_weight_is_none(rule: str, read: Read) -> None:
    assert len(read(f"{EQUAL}[[weight]]\n{rule}\nweight = 2").weight) == 1


# Where it comes from


def test_a_file_is_looked_for_in_order(here: Path) -> None:
    for name, level in [("raquo.toml", "debug"), ("named.toml", "warning"), ("given.toml", "error")]:
        (here / name).write_text(f'[log]\nlevel = "{level}"\n')
    environ = {"RAQUO_CONFIG": "named.toml"}
    assert load(environ={}).config.log.level == "debug"
    assert load(environ=environ).config.log.level == "warning"
    assert load("given.toml", environ).config.log.level == "error"
    assert load("given.toml", environ).place == Path("given.toml")


def load_all_sources(here: Path) -> Loaded:
    (here / "raquo.toml").write_text(
        '[defaults]\nmax_length = 1\nmin_room = 1\n[broker]\nurl = "amqp://file"\n'
        '[log]\nlevel = "debug"\n[[weight]]\ntenant = "a"\nweight = 2\n'
    )
    environ = {
        "RAQUO_BROKER__URL": '["amqp://one", "amqp://two"]',
        "RAQUO_DEFAULTS__MAX_LENGTH": "7",
        "RAQUO_DEFAULTS__FLOOR_SHARE": "0.25",
        "RAQUO_DEFAULTS__DECLARE_MISSING": "True",
        "RAQUO_DISTRIBUTOR__SERVE": "a, b*",
        "RAQUO_DISTRIBUTOR__ROUND_EVERY": "auto",
        "RAQUO_STAGING__ARGUMENTS": '{"x-max-length": 5}',
    }
    flags = {"broker": {"url": "amqp://flag"}, "distributor": {"serve": ["c"], "http": None}, "log": {}}
    return load(environ=environ, flags=flags)


def test_the_environment_goes_over_the_file_and_flags_over_both(here: Path) -> None:
    config = load_all_sources(here).config
    assert config.broker.url == ("amqp://flag",)
    assert (config.defaults.max_length, config.defaults.floor_share) == (7, 0.25)
    assert config.defaults.declare_missing is True
    assert (config.distributor.serve, config.distributor.http) == (("c",), ("127.0.0.1", 15690))
    assert config.staging.arguments == {"x-max-length": 5}
    assert config.log.level == "debug"


def test_of_every_key_it_is_known_who_said_it(here: Path) -> None:
    origins = load_all_sources(here).origins
    assert origins["broker.url"] == "from --url"
    assert origins["distributor.serve"] == "from --target"
    assert origins["defaults.max_length"] == "from RAQUO_DEFAULTS__MAX_LENGTH"
    assert origins["log.level"] == "in raquo.toml"
    assert origins["weight.1.tenant"] == "in raquo.toml"
    assert origins["log.format"] == origins["distributor.http"] == "default"


def test_variables_of_others_are_not_looked_at(here: Path) -> None:
    environ = {
        "RAQUO_PORT": "tcp://10.0.0.1:15690",
        "RAQUO_SERVICE_HOST": "10.0.0.1",
        "RAQUO_PORT_15690_TCP_PROTO": "tcp",
        "RAQUO_TARGET_PORT": "tcp://10.0.0.2:80",
        "RAQUO_ELSEWHERE__KEY": "x",
        "RAQUO_LOG__LEVEL": "",
        "RAQUO_LOG__LEVEL_FILE": "",
        "raquo_log__level": "debug",
    }
    assert load(environ=environ).config == load(environ={}).config


def test_a_secret_may_be_in_a_file(here: Path) -> None:
    (here / "secret").write_text("s3cret\n")
    loaded = load(environ={"RAQUO_DISTRIBUTOR__HTTP_TOKEN_FILE": "secret"})
    assert loaded.config.distributor.http_token.get_secret_value() == "s3cret"
    assert loaded.origins["distributor.http_token"] == "from RAQUO_DISTRIBUTOR__HTTP_TOKEN_FILE"


@pytest.mark.parametrize(
    ("environ", "folder", "origin"),
    [
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/x"}, "/var/lib/a", "from STATE_DIRECTORY"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/raquo", "from XDG_STATE_HOME"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/raquo", "default"),
        (
            {"RAQUO_DISTRIBUTOR__STATE_DIR": "/s", "STATE_DIRECTORY": "/t"},
            "/s",
            "from RAQUO_DISTRIBUTOR__STATE_DIR",
        ),
    ],
)
def test_state_has_a_place_of_its_own(environ: dict[str, str], folder: str, origin: str, here: Path) -> None:
    loaded = load(environ=environ)
    assert loaded.config.distributor.state_dir == Path(folder)
    assert loaded.origins["distributor.state_dir"] == origin


# Mistakes


LARGE = "expected a whole number from 1 to 1000000000"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[log]\nlevl = 'x'", "log.levl = 'x': no such setting, expected level (in raquo.toml)"),
        ("[lgo]\nlevel = 'x'", "lgo = {…}: no such section, expected log (in raquo.toml)"),
        ("[[wieght]]\nweight = 1", "wieght = […]: no such section, expected weight (in raquo.toml)"),
        ("[log]\nlevel = 'loud'", "log.level = 'loud': expected one of debug, info, warning, error (in raquo.toml)"),
        ("[log]\nlevel = ['info']", "log.level = ['info']: expected one of debug"),
        ("log = 1", "log = 1: expected a section [log] (in raquo.toml)"),
        ("distributor = 1", "distributor = 1: expected a section [distributor] (in raquo.toml)"),
        ("target = 1", "target = 1: expected tables [[target]] (in raquo.toml)"),
        ("weight = [1]", "weight.1 = 1: expected tables [[weight]] (in raquo.toml)"),
        ("[broker\n", "raquo.toml is not TOML"),
        ("[broker]\nverify = 'no'", "broker.verify = 'no': expected true or false (in raquo.toml)"),
        ("[broker]\nca = ''", "broker.ca = '': expected a text (in raquo.toml)"),
        ("[broker]\nurl = 'localhost'", "broker.url = 'localhost': expected a URL that begins with amqp:// or"),
        ("[broker]\nurl = []", "broker.url = []: expected a URL that begins with amqp:// or amqps://"),
        ("[broker]\nurl = 'amqp://h:port'", "broker.url = 'amqp://***': expected a URL that can be read; the port"),
        ("[broker]\nurl = 'amqp://h?heartbeat=0'", "expected a URL that can be read; heartbeat=0 is refused"),
        ("[broker]\nurl = ['amqp://a/x', 'amqp://b/y']", "they must all name the same virtual host (in raquo.toml)"),
        ("[broker]\nca = 'ca.pem'", "broker.url = 'amqp://guest:***@localhost:5672/%2f': expected"),
        ("[broker]\nkey = 'k'", "broker.key = 'k': expected cert beside it"),
        ("[broker]\nmanagement_url = 'amqp://h'", "expected a URL that begins with http:// or https://"),
        ("[router]\ntargets = []", "router.targets = []: expected a list of texts, at least one"),
        ("[router]\nmode = 'of'", "router.mode = 'of': expected one of stage, shadow, off"),
        ("[staging]\nidle_ttl = '7'", "staging.idle_ttl = '7': expected \"never\", or a duration from 1s to 3650d"),
        ("[distributor]\nserve = []", "distributor.serve = []: expected a list of shell globs, at least one"),
        ("[distributor]\nserve = 'a'", "distributor.serve = 'a': expected a list of shell globs, at least one"),
        ("[distributor]\nserve = ['re:a']", "distributor.serve = ['re:a']: expected shell globs; re:… is for"),
        ("[distributor]\nserve_not = ['']", "distributor.serve_not = ['']: expected a list of shell globs"),
        ("[distributor]\ndiscover_every = '2'", "distributor.discover_every = '2': expected a duration from 100ms"),
        ("[distributor]\ndiscover_every = nan", "distributor.discover_every = nan: expected a duration"),
        ("[distributor]\ndiscover_every = true", "distributor.discover_every = True: expected a duration"),
        ("[distributor]\nround_every = '2h'", 'expected "auto", or a duration from 1ms to 1m'),
        ("[distributor]\ndrain_timeout = '-1s'", "distributor.drain_timeout = '-1s': expected a duration from 0s"),
        ("[distributor]\nhttp = '::1:80'", "distributor.http = '::1:80': expected \"off\", or host:port such as"),
        ("[distributor]\nhttp = 'h:65536'", "distributor.http = 'h:65536': expected"),
        ("[distributor]\nhttp = false", "distributor.http = False: expected"),
        ("[distributor]\nstate_dir = ''", "distributor.state_dir = '': expected a folder's path"),
        ("[distributor]\nhttp_hosts = ['a/b']", "distributor.http_hosts = ['a/b']: expected a list of host names"),
        ("[defaults]\nmax_length = 0", f"defaults.max_length = 0: {LARGE}"),
        ("[defaults]\nmax_length = '5'", f"defaults.max_length = '5': {LARGE}"),
        ("[defaults]\nmax_length = true", f"defaults.max_length = True: {LARGE}"),
        ("[defaults]\nmax_length = 'auto'", "auto comes with a later release; give a number (in raquo.toml)"),
        ("[defaults]\nmax_unacked = 0", 'defaults.max_unacked = 0: expected "none", or a whole number from 1'),
        ("[defaults]\nmin_room = 1001", "defaults.min_room = 1001: expected no more than max_length, 1000"),
        ("[defaults]\npolicy = 'fair'", "expected one of weighted, equal, or module:attribute of your own (in"),
        ("[defaults]\npolicy = 'pass'", "of your own; pass comes with a later release (in raquo.toml)"),
        ("[defaults]\npolicy = 'a:'", "defaults.policy = 'a:': expected one of weighted, equal"),
        ("[defaults]\nfair_by = 'user'", "defaults.fair_by = 'user': expected one of tenant, queue"),
        ("[defaults]\ntransport = 'shovel'", "expected client; shovel comes with a later release"),
        ("[defaults]\ntransport = 'cart'", "defaults.transport = 'cart': expected client (in raquo.toml)"),
        ("[defaults]\nfloor_share = 1.1", "defaults.floor_share = 1.1: expected a number from 0 to 1"),
        ("[defaults]\nfloor_share = true", "defaults.floor_share = True: expected a number from 0 to 1"),
        ("[[target]]\nmax_length = 5", "target.1.target = nothing: expected a shell glob, or re:…"),
        ("[[target]]\ntaget = 'x'", "target.1.taget = 'x': no such setting, expected target (in raquo.toml)"),
        ("[[target]]\ntarget = 're:('", "target.1.target = 're:(': expected a regular expression behind re:, and"),
        ("[[target]]\ntarget = 'a'\nmax_length = -1", f"target.1.max_length = -1: {LARGE}"),
        ("[[target]]\ntarget = 'a'\nmax_length = 1\nmin_room = 2", "target.1.min_room = 2: expected no more than"),
        ("[[weight]]\nweight = 2", "weight.1.weight = 2: expected target, tenant, workflow or match beside it"),
        ("[[weight]]\ntenant = 'a'", "weight.1.weight = nothing: expected 0, or a number from 0.001 to 1000"),
        ("[[weight]]\ntenant = 'a'\nweight = 1001", "weight.1.weight = 1001: expected 0, or a number from 0.001"),
        ("[[weight]]\ntenant = 'a'\nweight = 0.0001", "weight.1.weight = 0.0001: expected 0, or a number"),
        ("[[weight]]\ntenant = 'a'\nweight = 1.0005", "expected a weight with at most three digits behind the point"),
        ("[[weight]]\ntenant = 'a'\nweight = inf", "weight.1.weight = inf: expected 0, or a number"),
        ("[[weight]]\ntenant = 'a'\nweight = true", "weight.1.weight = True: expected 0, or a number"),
        ("[[weight]]\nmatch = '['\nweight = 1", "weight.1.match = '[': expected a regular expression, and this is"),
        ("[[limit]]\ntenant = 'a'\nmax_rate = 5", "expected none yet; limits come with a later release (in raquo.toml"),
        ("[metrics]\ntop_tenants = -1", "metrics.top_tenants = -1: expected a whole number from 0 to 1000"),
    ],
)
def test_a_mistake_is_one_line_with_key_value_and_what_was_expected(text: str, words: str, here: Path) -> None:
    assert words in mistake_in(here, text)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        (
            "RAQUO_LOG__LEVEL",
            "x",
            "log.level = 'x': expected one of debug, info, warning, error (from RAQUO_LOG__LEVEL)",
        ),
        ("RAQUO_LOG__LEVL", "x", "log.levl = 'x': no such setting, expected level (from RAQUO_LOG__LEVL)"),
        ("RAQUO_BROKR__URL", "x", "RAQUO_BROKR__URL is set: no such section, expected BROKER"),
        ("RAQUO_WEIGHT__0__TENANT", "x", "RAQUO_WEIGHT__0__TENANT is set: expected [[weight]] in the file"),
        ("RAQUO_DEFAULTS__MAX_LENGTH", "many", f"defaults.max_length = 'many': {LARGE}"),
        ("RAQUO_STAGING__ARGUMENTS", "{", "staging.arguments = '{': expected a table of names and values"),
        ("RAQUO_BROKER__VERIFY", "perhaps", "broker.verify = 'perhaps': expected true or false"),
        ("RAQUO_BROKER__URL_FILE", "missing", "cannot read missing, which RAQUO_BROKER__URL_FILE names: No such file"),
        ("RAQUO_BROKER__URL_FILE", "/dev/null", "/dev/null, which RAQUO_BROKER__URL_FILE names, is empty"),
        ("RAQUO_CONFIG", "missing.toml", "cannot read the configuration missing.toml: No such file"),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(variable: str, value: str, words: str, here: Path) -> None:
    assert words in mistake_in(here, **{variable: value})


def test_a_mistake_in_a_flag_names_the_flag(here: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"broker.url = 'x': expected .* \(from --url\)"):
        load(environ={}, flags={"broker": {"url": "x"}})
    with pytest.raises(BadConfiguration, match=r"\(from --drain-timeout\)"):
        load(environ={}, flags={"distributor": {"drain_timeout": "x"}})


def test_a_value_and_a_file_for_it_are_one_too_many(here: Path) -> None:
    line = mistake_in(here, RAQUO_BROKER__URL="amqp://h", RAQUO_BROKER__URL_FILE="x")
    assert line == "RAQUO_BROKER__URL_FILE and RAQUO_BROKER__URL are both set: keep one"


# Secrets: every value below has "cr" where its password is


@pytest.mark.parametrize(
    "text",
    [
        "[broker]\nurl = 'http://user:secret@h'",
        "[broker]\nurl = ['amqp://h', 'x://user:se@cr, et@h']",
        "[broker]\nurl = 'u:cret@h'",
        "[broker]\nurl = 'amqp://user:secret'",
        "[broker]\nurl = 'amqp://user:se/cret@h:x'",
        "[broker]\nurl = 'amqp://user:s@e?cr@h:x'",
        "[broker]\nurl = 'amqp://user:s#ecr@h'",
        "[broker]\nurl = 'amqp://h?password=secret'",
        "[broker]\nurl = {password = 'secret'}",
        "[broker]\nmanagement_url = 'ftp://u:secret@h'",
        "[broker]\nurls = 'secret'",
        "[broker]\npassword = 'secret'",
        "broker = 'amqp://u:secret@h'",
        "[distributor]\nhttp_token = 'se cret'",
        "[distributor]\nhttp_token = ['secret']",
        "[distributor]\nhtp_tokn = 'secret'",
        "[distributor]\nhttp = 'amqp://u:secret@h'",
        "[[limit]]\nurl = 'amqp://u:secret@h'",
    ],
)
def test_mistakes_show_no_password(text: str, here: Path) -> None:
    assert "cr" not in mistake_in(here, text)


def test_a_mistake_leaves_no_password_in_the_traceback_either(here: Path) -> None:
    (here / "raquo.toml").write_text("[broker]\nurl = 'http://user:secret@h'")
    with pytest.raises(BadConfiguration) as caught:
        load(environ={})
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_what_a_variable_names_is_not_shown(here: Path) -> None:
    (here / "file").write_text("cr")
    assert "= ***: expected one of" in mistake_in(here, RAQUO_LOG__LEVEL_FILE="file")


def test_a_configuration_shows_no_password(read: Read) -> None:
    config = read("[broker]\nurl = 'amqp://u:secret@h'\n[distributor]\nhttp_token = 'secret'")
    assert "secret" not in f"{config!r} {config}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("amqp://localhost:5672/%2f", "amqp://localhost:5672/%2f"),
        ("amqp://u:p@h:5672/v?heartbeat=5", "amqp://u:***@h:5672/v"),
        ("amqp://token@h", "amqp://***@h"),
        ("amqps://[::1]:5671", "amqps://[::1]:5671"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert mask_url(url) == shown
