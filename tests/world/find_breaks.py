"""Look for the first world that finds each deliberate break: `python tests/world/find_breaks.py [NAME ...]`.

Where worlds change, other seeds find a break. What is found here is written into the list, and what is not is named.
"""

import re
import subprocess
import sys
from pathlib import Path

from breaks import BREAKS, Break

_PLAY, _LIST = Path(__file__).with_name("play.py"), Path(__file__).with_name("breaks.py")
_MOST_SEEDS = 500


def played(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, _PLAY, "--brief", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def found(broken: Break) -> tuple[int, str] | None:
    """Return the first seed that finds a break, and the check; a world that fails without it shows nothing."""
    seed = 1
    while seed <= _MOST_SEEDS:
        world = ("--level", broken.level, "--seed", seed)
        play = played(*world, "--count", _MOST_SEEDS + 1 - seed, "--until-found", "--break", broken.name)
        failed = re.search(rf"^{broken.level} (\d+): (\w+): ", play.stdout, re.MULTILINE)
        if failed is None:
            return None
        seed = int(failed[1])
        if played("--level", broken.level, "--seed", seed).returncode == 0:
            return seed, failed[2]
        seed += 1
    return None


def note(broken: Break, seed: int, check: str) -> None:
    listed = _LIST.read_text(encoding="utf-8")
    place = re.compile(rf'(name="{re.escape(broken.name)}",.*?seed=)\d+(,\s+check=)"\w*"', re.DOTALL)
    _LIST.write_text(place.sub(rf'\g<1>{seed}\g<2>"{check}"', listed, count=1), encoding="utf-8")


def main() -> int:
    wanted = sys.argv[1:] or [each.name for each in BREAKS]
    lost = []
    for broken in (each for each in BREAKS if each.name in wanted):
        where = found(broken)
        print(f"{broken.level} {where}: {broken.name}", flush=True)
        if where is None:
            lost.append(broken.name)
        else:
            note(broken, *where)
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
