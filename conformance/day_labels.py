"""Read a day's label: its form is not shown in the contract, so only common forms are known. Pure."""

from datetime import date, datetime

# Forms in which year, month and day cannot be confused.
_FORMS = ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y")


def day_of(label: str) -> date | None:
    """Return the day that a label names; None if its form is not known."""
    for form in _FORMS:
        try:
            return datetime.strptime(label, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(label).date()
    except ValueError:
        return None
