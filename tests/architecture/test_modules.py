"""Each module alone: its size, its names, what it reads of the environment, and what it shows."""

import ast
import re
from collections import defaultdict

from .packages import CORE, PACKAGES, modules_of, name_of, nodes_of

LONGEST_FUNCTION = 60
LONGEST_MODULE = {"flows": 120, "tasks": 120}
"""Of the others, 500 lines."""

MOST_EXPRESSIONS = 40
TURNS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.NamedExpr)
COMPOUND = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With),
    *(ast.AsyncWith, ast.Try, ast.TryStar, ast.Match, ast.Import, ast.ImportFrom),
)
"""Statements that hold others."""

EMPTY_WORDS = {"common", "data", "handler", "helper", "helpers", "info", "manager", "misc", "util", "utils"}

READERS = {
    "proofsweep/config/load.py",
    "proofsweep/config/certificates.py",  # what the libraries below read of it, each in its own way
    "proofsweep/config/buckets.py",  # whether a profile of the AWS tools is asked for
    "cli/proofsweep_cli/app.py",  # Python's own variables for the encoding of file names
    "cli/proofsweep_cli/embedded_server.py",  # what the server's process is given of it
    "cli/proofsweep_cli/prefect_database.py",  # where the user's cache is, and what Prefect is told there
    "cli/proofsweep_cli/prefect_api.py",  # Prefect's own variables, which are not our settings
    "tasks/proofsweep_tasks/prefect_home.py",  # the same
    "tasks/proofsweep_tasks/working_folder.py",  # what Python and Prefect are told there of other places
    "tasks/proofsweep_tasks/this_flow_run.py",  # what a worker of Prefect sets for the process of a flow run
    "cli/proofsweep_cli/demo.py",  # it removes the settings of the person who runs the demo
}
"""The modules that may read the environment."""
ENVIRONMENT = {"environ", "environb", "getenv", "putenv"}

DOORS = {
    "cli/proofsweep_cli/screen.py": "is the door: all text of the command line passes through it",
    "proofsweep/config/notices.py": "escapes what a person must see at once, one line on stderr",
}
"""The modules that may show text as it is, and why."""
RAW = {"print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write", "Console", "Text"}
"""Calls that do."""


def test_no_function_and_no_module_is_too_long() -> None:
    """A function fits on a screen, docstring included. A module has one meaning; flows and tasks are shorter still."""
    too_long = [
        f"{name_of(module)}: {node.name}"
        for module in modules_of(*PACKAGES)
        for node in nodes_of(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    too_long += [
        name_of(module)
        for package in PACKAGES
        for module in modules_of(package)
        if len(module.read_text().splitlines()) > LONGEST_MODULE.get(package, 500)
    ]

    assert too_long == []


def test_a_statement_holds_one_thought() -> None:
    """At most forty expressions, and one comprehension, conditional expression or walrus; of a record in each field."""
    loaded: list[str] = []
    for module in modules_of(*PACKAGES):
        for node in nodes_of(module):
            if not isinstance(node, ast.stmt) or isinstance(node, COMPOUND):
                continue
            for part in _parts_of(node):
                nodes = list(ast.walk(part))
                expressions = sum(isinstance(each, ast.expr) for each in nodes)
                turns = sum(isinstance(each, TURNS) for each in nodes)
                if expressions > MOST_EXPRESSIONS or turns > 1:
                    loaded.append(f"{name_of(module)}:{node.lineno}")

    assert loaded == []


def _parts_of(statement: ast.stmt) -> list[ast.AST]:
    """Return what is read at once: a call with named arguments, or a dict, is read field by field."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and value.keywords:
        return [*value.args, *value.keywords]
    if isinstance(value, ast.Dict):
        return [*value.values]
    return [statement]


def test_a_name_has_no_empty_word_and_a_class_name_exists_once() -> None:
    """A helper, a manager or some data is a noun that is not found yet.

    A name leads to one class, even if the class is private: a reader who searches for it finds no other.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules_of(*PACKAGES):
        for node in nodes_of(module):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name_of(module))
    names = {*places, *(module.stem for module in modules_of(*PACKAGES))}

    words = {name: {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)} for name in names}
    of_core = [[each for each in modules if not each.startswith("sandbox/")] for modules in places.values()]

    assert [name for name in names if words[name] & EMPTY_WORDS] == []
    assert [modules for modules in of_core if len(modules) > 1] == []


def is_environment(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr=name):
            return name in ENVIRONMENT
        case ast.ImportFrom(module="os", names=names):
            return bool(ENVIRONMENT & {alias.name for alias in names})
    return False


def test_environment_is_read_in_one_place() -> None:
    """Each value comes from the settings: code that reads the environment cannot be configured by them."""
    readers = {name_of(module) for module in modules_of(*PACKAGES) if any(map(is_environment, nodes_of(module)))}

    assert readers == READERS


def shows_text(node: ast.AST) -> bool:
    """Return whether a call shows text that is no constant, without escaping."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in RAW:
        return False
    return not node.args or not isinstance(node.args[0], ast.Constant)


def test_only_the_doors_show_text() -> None:
    """A module that prints by itself may print a file's name, and the name may hold a forged line."""
    showing = {name_of(module) for module in modules_of(*CORE) if any(map(shows_text, nodes_of(module)))}

    assert showing == set(DOORS)


def reads_wall_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"datetime.now", "datetime.utcnow", "date.today"}


def test_core_reads_the_wall_clock_in_one_place() -> None:
    """Else a simulated world, and the service's clock, would rule only a part of it."""
    reading = {name_of(module) for module in modules_of("proofsweep") if any(map(reads_wall_clock, nodes_of(module)))}

    assert reading == {"proofsweep/config/threads.py"}


def test_the_kind_of_a_file_is_asked_in_its_room_alone() -> None:
    """Another kind of files is added there; whoever stands above asks `kind_of` what is true of it."""
    asking = {name_of(module) for module in modules_of(*CORE) if "is_bucket" in module.read_text()}

    assert asking == {"proofsweep/config/locations.py", "proofsweep/files/files.py", "proofsweep/store/objects.py"}
