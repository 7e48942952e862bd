"""One asks for all who were throttled before the question went out."""

from datetime import UTC, datetime, timedelta

from proofsweep.client.single_flight import SingleFlight


def test_an_answer_serves_all_whose_trouble_is_older_than_the_question() -> None:
    """Sixteen workers that are throttled at once cost one call to find out why, not sixteen."""
    question, answers = SingleFlight(), iter([7, 5])
    trouble = datetime.now(UTC)

    first = question.answer(trouble, lambda: next(answers))
    again = question.answer(trouble, lambda: next(answers))

    assert (first, again) == (7, 7)


def test_newer_trouble_is_asked_about_anew() -> None:
    """The quota may have ended since."""
    question, answers = SingleFlight(), iter([7, 0])
    question.answer(datetime.now(UTC), lambda: next(answers))

    assert question.answer(datetime.now(UTC) + timedelta(seconds=1), lambda: next(answers)) == 0


def test_a_question_that_was_asked_in_what_is_now_the_future_is_asked_anew() -> None:
    """The clock was put back since, and nobody can say how old the answer is."""
    question, answers = SingleFlight(), iter([7, 0])
    question.answer(datetime.now(UTC), lambda: next(answers))
    question._asked_at += timedelta(hours=3)

    assert question.answer(datetime.now(UTC), lambda: next(answers)) == 0
