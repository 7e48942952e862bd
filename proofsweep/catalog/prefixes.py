"""Choose which prefixes of a bucket to list, so that few listings hold many wanted keys."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Prefixes:
    """Folders of keys; when there are more than `most`, all are shortened to a common depth."""

    most: int
    _depth: int | None = None
    _folders: set[str] = field(default_factory=set)

    def add(self, folder: str) -> None:
        """Take the folder of one key; empty for the bucket itself."""
        self._folders.add(self._shortened(folder))
        while len(self._folders) > self.most:
            self._depth = max(each.count("/") for each in self._folders)
            self._folders = {self._shortened(each) for each in self._folders}

    def chosen(self) -> list[str]:
        """Give the prefixes to list, sorted; none lies within another."""
        chosen: list[str] = []
        for folder in sorted(self._folders, key=lambda each: each.split("/") if each else []):
            if not chosen or not f"{folder}/".startswith(f"{chosen[-1]}/" if chosen[-1] else ""):
                chosen.append(folder)
        return chosen

    def _shortened(self, folder: str) -> str:
        return folder if self._depth is None else "/".join(folder.split("/")[: self._depth])
