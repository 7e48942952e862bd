"""The operator of a sandbox that can break a rule."""

from proofsweep_sandbox import Operator


class MutantOperator(Operator):
    """A client of the operator port of `python -m tests.mutants`."""

    def set_mutant(self, name: str | None) -> None:
        """Break one rule by its mutant; None restores the correct service."""
        self._request("PUT", "/mutant", {"name": name})
