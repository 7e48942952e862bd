"""The section `[ingest]`: how a watched folder is read, and where its files go."""

from typing import Annotated, Literal

from pydantic import Field

from proofsweep.config.sections import Seconds, Section


class IngestSettings(Section):
    """How a watched folder is read, and where its files go by their verdicts."""

    settle_seconds: Annotated[float, Field(ge=0)] = 10.0  # how long a file must be unchanged before it is sent
    # how long a file waits for its sidecar, or for the end that its header promises.
    pair_seconds: Annotated[float, Field(ge=0)] = 900.0
    # accepted, quarantine: folders or prefixes to which accepted and rejected files are moved; None leaves them.
    accepted: Annotated[str, Field(min_length=1)] | None = None
    quarantine: Annotated[str, Field(min_length=1)] | None = None
    # how long a delivery waits for what its messages name.
    batch_wait_seconds: Seconds = 21_600.0
    # whether a batch goes to one of the two as a whole, or each of its releases.
    batch_moves: Literal["batch", "release"] = "batch"
    tries: Annotated[int, Field(ge=1)] = 5  # how often one version of a file is tried at most
    # the tag that holds the supplier, which is the first folder below the watched one.
    supplier_tag: Annotated[str, Field(min_length=1)] = "supplier"
