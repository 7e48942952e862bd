"""A worker ends after its flow runs."""

from pathlib import Path

CATCHES_SIGTERM, CATCHES_NONE = "0000000000004000", "0000000000000000"


def put(processes: Path, process: int, caught: str, state: str = "S (sleeping)") -> None:
    (processes / str(process)).mkdir()
    (processes / f"{process}/status").write_text(f"Name:\tpython\nState:\t{state}\nSigCgt:\t{caught}\n")


def test_a_flow_run_that_has_just_ended_hides_no_other(tmp_path: Path) -> None:
    """Between the list of a worker's children and the look at each, any of them can end."""
    from proofsweep_tasks.drained_worker import flow_runs_of  # noqa: PLC0415

    children = tmp_path / "7/task/7/children"
    children.parent.mkdir(parents=True)
    children.write_text("11 12 13 14 ")
    put(tmp_path, 12, CATCHES_SIGTERM)
    put(tmp_path, 13, CATCHES_NONE)
    put(tmp_path, 14, CATCHES_SIGTERM, "Z (zombie)")

    assert flow_runs_of(7, tmp_path) == {12: True, 13: False}
