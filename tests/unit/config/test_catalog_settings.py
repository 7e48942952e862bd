"""What a config says of manifests is checked when it is read."""

import pytest
from pydantic import ValidationError

from proofsweep.config.sections import CatalogSettings


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": {"title": "Titel"}}, "names a column for audio, sidecar or id, and for nothing else"),
        ({"columns": {"audio": " "}}, "names a column for audio, sidecar or id"),
        ({"encoding": "base64"}, "must be an encoding of text, such as windows-1252"),
        ({"path_map": ["D:=musik"]}, "of absolute paths or bucket URLs"),
        ({"checksums": ["column:isrc"]}, "must be a list of checksum lists, and of columns like column:md5"),
    ],
)
def test_what_a_command_refuses_a_config_refuses_too(given: dict[str, object], words: str) -> None:
    """In words that do not show the value."""
    with pytest.raises(ValidationError, match=words):
        CatalogSettings.model_validate(given)


@pytest.mark.parametrize(
    "pattern",
    ["", "{}", "{name}", "{stem}", "{}.sidecar", "{base}.sidecar", "{name}.{ext}", "{Name}.sidecar", "x.sidecar"],
)
def test_a_sidecar_s_name_must_differ_from_its_audio_s(pattern: str) -> None:
    """An empty one makes every file a sidecar, and one with another placeholder none: then pairs are sent alone."""
    with pytest.raises(ValidationError) as refused:
        CatalogSettings(sidecar_names=("{name}.sidecar", pattern))

    assert "must be {name} or {stem}, once" in str(refused.value)
    assert refused.value.errors()[0]["loc"] == ("sidecar_names", 1)
