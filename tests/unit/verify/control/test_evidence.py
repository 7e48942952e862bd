"""What waits for a control is taken once, and its row stays put aside until it is written."""

from proofsweep.model.items import Mode, WorkItem
from proofsweep.model.outcomes import Failed, Finished
from proofsweep.verify.control.evidence import Suspect, Suspects
from proofsweep.verify.control.rules import Doubt, Subject

from ...scripted_service import NOW

SERVICE, SIZE = Subject(Doubt.SERVICE, Mode.ONE_FILE), Subject(Doubt.SIZE, Mode.ONE_FILE)


def failed(row: int, subject: Subject = SERVICE) -> Suspect:
    """Make an item whose tries are spent."""
    item = WorkItem(manifest_row=row, item_id=f"item-{row}", audio=f"/{row}.wav")
    done = Finished(item=item, outcome=Failed(reason="http_503", detail="no"), started_at=NOW, finished_at=NOW)
    return Suspect(done=done, row={}, subject=subject, began_at=0.0, ended_at=1.0)


def test_what_is_taken_waits_no_more_and_stays_put_aside() -> None:
    """Another control must not decide about it again; its row is not written yet."""
    suspects = Suspects()
    for suspect in (failed(0), failed(1, SIZE), failed(2)):
        suspects.add(suspect)

    taken = suspects.take(lambda each: each.subject == SERVICE)

    assert [each.done.item.manifest_row for each in taken] == [0, 2]
    assert suspects.subjects() == {SIZE}
    assert suspects.put_aside == {0, 1, 2}


def test_a_row_that_is_written_is_put_aside_no_more_and_ends_the_tries_in_a_row() -> None:
    """Something was finished in between."""
    suspects = Suspects()
    suspects.add(failed(0))
    suspects.add(failed(1))
    tries = suspects.tries_in_a_row

    suspects.was_written(1)

    assert (tries, suspects.tries_in_a_row) == (2, 0)
    assert suspects.put_aside == {0}
