"""Each section refuses unsafe values, and its message does not show them."""

import pytest
from pydantic import ValidationError

from proofsweep.config.sections import BoundsSettings, CatalogSettings, DaskSettings, ResultsSettings, ServiceSettings


def service(base_url: str, *, allow_plain_http: bool = False) -> ServiceSettings:
    return ServiceSettings(base_url=base_url, environment="beta", allow_plain_http=allow_plain_http)


def mistakes_in(refused: pytest.ExceptionInfo[ValidationError]) -> str:
    return "; ".join(mistake["msg"] for mistake in refused.value.errors(include_input=False))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://partner.example/v1", "plain http"),
        ("http://127.evil.example/v1", "plain http"),
        ("http://localhost.evil.example/v1", "plain http"),
        ("http://10.0.0.1/v1", "plain http"),
        ("https://partner.example", "must end in the path segment /v1"),
        ("https://partner.example/v2", "must end in the path segment /v1"),
        ("https://partner.example/xv1", "must end in the path segment /v1"),
        ("https://partner.example/v1/verify", "must end in the path segment /v1"),
        ("https://partner.example/v1?a=b", "must be an http(s) URL"),
        ("https://partner.example/v1?", "must be an http(s) URL"),
        ("https://partner.example/v1#x", "must be an http(s) URL"),
        ("https://user:SECRET@partner.example/v1", "must not contain a user name or password"),
        ("https://user:SECRET/AND@partner.example/v1", "must not contain a user name or password"),
        ("https://user:12/SECRET@partner.example/v1", "must not contain a user name or password"),
        ("https://partner.example:SECRET/v1", "must be an http(s) URL"),
        ("https:///v1", "must be an http(s) URL"),
        ("ftp://partner.example/v1", "must be an http(s) URL"),
        ("partner.example/v1", "must be an http(s) URL"),
    ],
)
def test_a_wrong_or_unsafe_base_url_is_refused(url: str, words: str) -> None:
    """The key travels to this URL: nobody may read it, and no other host may receive it."""
    with pytest.raises(ValidationError) as refused:
        service(url)

    assert words in mistakes_in(refused)
    assert "SECRET" not in mistakes_in(refused)


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("https://partner.example/v1/", "https://partner.example/v1"),
        ("https://partner.example/behind/gateway/v1", "https://partner.example/behind/gateway/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.9.9.9/v1", "http://127.9.9.9/v1"),
        ("http://[::1]/v1", "http://[::1]/v1"),
        ("http://localhost:1/v1", "http://localhost:1/v1"),
    ],
)
def test_a_base_url_over_tls_or_on_loopback_is_accepted(url: str, base_url: str) -> None:
    """A slash at its end makes no difference. In containers, where the sandbox is another host, plain http is set."""
    assert service(url).base_url == base_url
    assert service("http://sandbox:8725/v1", allow_plain_http=True).base_url == "http://sandbox:8725/v1"


def test_all_that_is_unsafe_is_said_at_once() -> None:
    """A person who corrects the one is not refused for the other afterwards."""
    with pytest.raises(ValidationError, match=r"plain http.*give only one of"):
        ServiceSettings(base_url="http://partner.example/v1", environment="sandbox", api_key_env="A", api_key_block="b")


@pytest.mark.parametrize("url", ["s3://key:SECRET@bucket/prefix", "https://SECRET@host/x"])
def test_a_results_url_with_credentials_is_refused(url: str) -> None:
    """It is printed, stored in plans and given to tasks."""
    with pytest.raises(ValidationError) as refused:
        ResultsSettings(url=url)

    assert "must not contain credentials" in mistakes_in(refused)
    assert "SECRET" not in mistakes_in(refused)


@pytest.mark.parametrize(("name", "text"), [("until", "soon"), ("max_duration", "7")])
def test_an_unreadable_window_is_refused_when_settings_are_read(name: str, text: str) -> None:
    with pytest.raises(ValidationError, match="write it like"):
        BoundsSettings.model_validate({name: text})


@pytest.mark.parametrize(
    "address",
    [
        "scheduler:8786",
        "tcp://scheduler",
        "tcp://a:SECRET@scheduler:8786",
        "tcp://a:SECRET/@scheduler:8786",
        "tcp://:1",
    ],
)
def test_what_is_no_address_of_a_scheduler_is_refused(address: str) -> None:
    with pytest.raises(ValidationError) as refused:
        DaskSettings(address=address)

    assert "like tcp://host:8786" in mistakes_in(refused)
    assert "SECRET" not in mistakes_in(refused)


def test_known_good_files_stand_alone_or_with_their_sidecars() -> None:
    given = {"base_url": "https://a.example/v1", "environment": "beta"}
    given["known_good"] = ["song.wav", ["song.mp3", "song.mp3.sidecar"]]  # type: ignore[assignment]

    settings = ServiceSettings.model_validate(given)

    assert settings.known_good == (("song.wav", None), ("song.mp3", "song.mp3.sidecar"))
    assert ServiceSettings.model_validate(settings.model_dump()) == settings


@pytest.mark.parametrize("known_good", ["song.wav", [["a", "b", "c"]], [""], [7], [[]], {"a": "b"}])
def test_what_is_no_list_of_files_and_pairs_is_refused(known_good: object) -> None:
    with pytest.raises(ValidationError, match="must be a list of files, and of pairs like"):
        ServiceSettings.model_validate(
            {"base_url": "https://a.example/v1", "environment": "beta", "known_good": known_good}
        )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": {"title": "Titel"}}, "must name a column for audio, sidecar or id, and for nothing else"),
        ({"encoding": "base64"}, "must be an encoding of text, like utf-8"),
        ({"path_map": ["D:=musik"]}, "and the absolute paths or bucket URLs"),
        ({"checksums": ["column:isrc"]}, "must name a column as column:NAME:ALGORITHM"),
    ],
)
def test_what_a_command_refuses_a_config_refuses_too(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        CatalogSettings.model_validate(given)
