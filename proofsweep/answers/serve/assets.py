"""The two files beside the pages."""

from pathlib import Path

_HERE = Path(__file__).parent

SCRIPT = (_HERE / "serve.js").read_text(encoding="utf-8")
STYLE = "".join((_HERE.parent / "report" / name).read_text(encoding="utf-8") for name in ("style.css",)) + (
    _HERE / "serve.css"
).read_text(encoding="utf-8")
