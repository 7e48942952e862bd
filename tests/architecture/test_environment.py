import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("cli", "flows", "tasks", "proofsweep", "sandbox", "conformance")
READERS = {
    "proofsweep/settings/reading.py",
    "cli/embedded_server.py",  # Prefect's own variables, which are no settings of ours
    "cli/demo_command.py",  # it forgets the settings of whoever shows the demo
}
WORDS = {"environ", "environb", "getenv", "putenv"}


def reads_environment(module: Path) -> bool:
    """Say whether a module takes anything from the process's environment."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in WORDS:
                return True
            case ast.ImportFrom(module="os", names=names) if WORDS & {alias.name for alias in names}:
                return True
    return False


def test_environment_is_read_in_one_place() -> None:
    """A setting comes from the settings: code that looks past them cannot be told what to do."""
    modules = [module for package in PACKAGES for module in (ROOT / package).rglob("*.py")]

    readers = {str(module.relative_to(ROOT)) for module in modules if reads_environment(module)}

    assert readers == READERS
