"""The folder that `proofsweep demo` writes, and how the next demo replaces it."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from proofsweep.domain.errors import ConfigError

_MARK = "# Made by `proofsweep demo`\n"
_README = """
The next demo in this folder replaces it.

- `catalog/`: sample audio and sidecars, each with its own verdict
- `results/`: the tables: `verdicts`, `exchanges` and `runs`, as Parquet
- `proofsweep.toml`: the settings of the demo
- `sandbox/`: the home of the local partner service: its key, registry and uploads

Show the run again:

    {program} status --config {config}

Serve the sandbox again, and verify the catalog again:

    {program} sandbox --home {sandbox} --port {port}
    {program} verify {catalog} --config {config}
"""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The paths of a demo."""

    root: Path

    @property
    def catalog(self) -> Path:
        """Sample audio and sidecars."""
        return self.root / "catalog"

    @property
    def results(self) -> Path:
        """The results store."""
        return self.root / "results"

    @property
    def sandbox(self) -> Path:
        """The sandbox's home."""
        return self.root / "sandbox"

    @property
    def config(self) -> Path:
        """The settings of the demo, for later commands."""
        return self.root / "proofsweep.toml"

    @property
    def readme(self) -> Path:
        """Describes the folder; its first line marks it as a demo's."""
        return self.root / "README.md"

    def make_room(self) -> None:
        """Make the folder; delete what an earlier demo wrote, and nothing else.

        ConfigError if the folder holds something else, or cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if any(self.root.iterdir()) and not self._is_a_demos():
                raise ConfigError(
                    f"{self.root} is not empty and was not made by a demo; name another folder with --folder."
                )
            for old in (self.catalog, self.results, self.sandbox):
                if old.exists():
                    shutil.rmtree(old)
            self.readme.write_text(_MARK, encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"The folder {self.root} cannot be used for a demo ({error.strerror or error})."
            ) from error

    def write_config(self, base_url: str, key_file: Path) -> None:
        """Write the settings for the demo's sandbox and results; a JSON string is a TOML string too."""
        key, results = json.dumps(str(key_file.absolute())), json.dumps(str(self.results.absolute()))
        lines = [
            "# The settings of a demo; its sandbox has ended; README.md says how to serve it again.",
            "[service]",
            f"base_url = {json.dumps(base_url)}",
            'environment = "sandbox"',
            f"api_key_file = {key}",
            'sidecar_field = "sidecar"',
            "loopback_only = true # these values are wrong for a real partner",
            "",
            "[results]",
            f"url = {results}",
            "",
            "[pace]",
            "first_rate = 500 # nobody else uses this sandbox",
        ]
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def write_readme(self, program: str, port: int) -> None:
        """Write what is in the folder."""
        text = _README.format(
            program=program, config=self.config, sandbox=self.sandbox, port=port, catalog=self.catalog
        )
        self.readme.write_text(_MARK + text, encoding="utf-8")

    def _is_a_demos(self) -> bool:
        return self.readme.is_file() and self.readme.read_text(errors="replace").startswith(_MARK)
