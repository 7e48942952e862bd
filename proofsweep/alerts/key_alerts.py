"""What is told of the key: its grace, its quota, and calls that nobody here made."""

from datetime import date, datetime, timedelta

from proofsweep.alerts.events import AlertKind
from proofsweep.alerts.messages import About, Alert, made_alert
from proofsweep.model.forecast import Forecast
from proofsweep.model.key_rotation import Rotation
from proofsweep.model.runs import Plan
from proofsweep.text import minute_of

# Chosen: a rotated key works for 72 hours (contract, Limits). In the last 24, a night that begins may outlive it.
_GRACE_HOURS = 24


def key_expires(environment: str, expires_at: datetime | None, now: datetime) -> Alert | None:
    """Tell that a rotated key ends within 24 hours, or has ended (contract, Authentication 5)."""
    if expires_at is None or now < expires_at - timedelta(hours=_GRACE_HOURS):
        return None
    is_over = expires_at <= now
    when, ends = minute_of(expires_at), "ended" if is_over else "ends"
    lines = [f"The setting service.key_expires_at says that the key {ends} at {when}. Clear it with the new key."]
    title, state = f"the API key {ends} at {when}", "over" if is_over else "soon"
    return made_alert(AlertKind.KEY_EXPIRES, environment, title, lines, when, state)


def rotated_key_ends(rotation: Rotation, key_in_use: str | None, now: datetime) -> Alert | None:
    """Tell that the old key of a recorded rotation ends within 24 hours, or has ended and is in use here all the same.

    `key_in_use` is the fingerprint of the key in use here; None if it is not known.
    """
    ends, is_in_use = rotation.old_key_ends_at, key_in_use == rotation.key_fingerprint
    is_over = ends <= now
    if now < ends - timedelta(hours=_GRACE_HOURS) or (is_over and not is_in_use):
        return None
    when, state = minute_of(ends), "over" if is_over else "soon"
    use = "The settings still name the old key." if is_in_use else "The new one is in use here."
    will, of = "ended" if is_over else "ends", rotation.environment
    lines = [f"The key was rotated at {minute_of(rotation.answered_at)}; the old one {will} at {when}.", use]
    title = f"the old API key {will} at {when}"
    return made_alert(AlertKind.KEY_EXPIRES, of, title, lines, rotation.operation_id, state)


def quota_short(plan: Plan, rows: int, cost: Forecast) -> Alert | None:
    """Tell that the key's quota ends before these rows of a run do (contract, Limits: the quota is monthly)."""
    if not cost.rows_short:
        return None
    when = cost.quota_reset
    reset = "the service did not say when it resets" if when is None else f"it resets {minute_of(when)}"
    lines = [
        f"Run `{plan.run_id}`: {rows:,} rows are to be sent, and the quota is {cost.rows_short:,} rows short.",
        f"The quota has {cost.headroom or 0:,} calls left, {cost.reserve:,} of them reserved; {reset}.",
    ]
    title = "the quota ends before the catalog does"
    about = About(catalog=plan.catalog, rows=cost.rows_short, run_id=plan.run_id)
    return made_alert(AlertKind.QUOTA_SHORT, plan.environment, title, lines, plan.catalog, about=about)


def unexplained_usage(environment: str, day: date, used: int, ours: int, tolerated: int) -> Alert | None:
    """Tell that the service counted more calls of a UTC day (`used`) than the tables (`ours`) and tolerated ones."""
    if used - ours <= tolerated:
        return None
    lines = [
        f"On {day.isoformat()} (UTC) the service counted {used:,} calls; the tables hold {ours:,} of them.",
        f"{used - ours:,} were made elsewhere: by another installation or store, by a person, or with a stolen key.",
    ]
    title = f"{used - ours:,} calls of {day.isoformat()} are unexplained"
    return made_alert(AlertKind.USAGE, environment, title, lines, day.isoformat())
