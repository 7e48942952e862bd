import ast
from pathlib import Path

from .packages import PACKAGES, ROOT, modules_of

READERS = {
    "proofsweep/config/load.py",
    "proofsweep/config/buckets.py",  # whether a profile of the AWS tools is asked for
    "cli/proofsweep_cli/embedded_server.py",  # Prefect's own variables, which are not our settings
    "cli/proofsweep_cli/demo.py",  # it removes the settings of the person who runs the demo
}
WORDS = {"environ", "environb", "getenv", "putenv"}


def reads_environment(module: Path) -> bool:
    """Return whether a module reads the process's environment."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in WORDS:
                return True
            case ast.ImportFrom(module="os", names=names) if WORDS & {alias.name for alias in names}:
                return True
    return False


def test_environment_is_read_in_one_place() -> None:
    """Each value comes from the settings: code that reads the environment cannot be configured by them."""
    readers = {str(module.relative_to(ROOT)) for module in modules_of(*PACKAGES) if reads_environment(module)}

    assert readers == READERS
