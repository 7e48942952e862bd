"""The page on the command line lists every setting."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from proofsweep.config.load import Settings

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"


def test_the_docs_list_every_setting() -> None:
    """Each setting is listed with its environment variable and default, in the order of the settings."""
    rows = re.findall(r"^\| `([\w.]+)` \| `(PROOFSWEEP_\w+)` \| `?(.*?)`? \|", PAGE.read_text(), re.MULTILINE)

    assert rows == [
        (name, f"PROOFSWEEP_{name.replace('.', '__')}".upper(), default_of(field))
        for name, field in settings_by_name(Settings)
    ]


def settings_by_name(part: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield each setting with its section."""
    for name, field in part.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from settings_by_name(field.annotation, f"{name}.")
        else:
            yield prefix + name, field


def default_of(field: FieldInfo) -> str:
    """Write a default as the docs do."""
    if field.is_required():
        return "required"
    return "none" if field.default is None else json.dumps(field.default)
