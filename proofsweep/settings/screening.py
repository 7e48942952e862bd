"""The section `[screening]`: its names are the user's own."""

import re
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from proofsweep.settings.sections import Section

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


class ScreeningSettings(Section):
    """Conditions in SQL on grade and classification, each under a name of the user's own; they decide nothing."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, Annotated[str, Field(min_length=1)]]

    @property
    def conditions(self) -> dict[str, str]:
        """Give the conditions by their names."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _has_plain_names(self) -> "ScreeningSettings":
        wrong = [name for name in self.conditions if not _PLAIN_NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r}: a name has up to 40 small letters, digits and underscores")
        return self
