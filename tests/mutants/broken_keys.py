"""Broken registries of keys."""

from dataclasses import replace

from proofsweep_sandbox.registry.keys import Key, Keys

from .broken_parts import BrokenPart, replacing
from .definition import PartReplacement

# By how much the mutant shortens the grace window.
_TWO_DAYS_SECONDS = 2 * 86_400


class _CapitalsIgnored(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Compare secrets without regard to capitals."""
        row = self._database.execute("SELECT * FROM keys WHERE secret = ? COLLATE NOCASE", (secret,)).fetchone()
        return None if row is None else Key(**row)


class _BeginningEnough(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Accept a key that only begins like one."""
        row = self._database.execute("SELECT * FROM keys WHERE substr(secret, 1, 20) = ?", (secret[:20],)).fetchone()
        return None if row is None else Key(**row)


class _GraceOfADay(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """End the grace window two days early."""
        key = super().by_secret(secret)
        if key is None or key.expires_at is None:
            return key
        return replace(key, expires_at=key.expires_at - _TWO_DAYS_SECONDS)


class _GraceForEver(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Accept an expired key."""
        key = super().by_secret(secret)
        return None if key is None else replace(key, expires_at=None)


class _KeysOfAllListed(BrokenPart, Keys):
    def of_tenant(self, tenant: str) -> list[Key]:
        """List the keys of all tenants."""
        del tenant
        return [Key(**row) for row in self._database.execute("SELECT * FROM keys ORDER BY seq")]


class _NewKeyMoved(BrokenPart, Keys):
    def by_secret(self, secret: str) -> Key | None:
        """Take a key that was not rotated as another tenant's."""
        key = super().by_secret(secret)
        return key if key is None or key.is_in_grace else replace(key, tenant=f"{key.tenant}_2")


class _OthersEnded(BrokenPart, Keys):
    def rotate(self, old: Key, now: int) -> Key:
        """End the tenant's other keys."""
        self._database.execute(
            "UPDATE keys SET expires_at = ? WHERE tenant = ? AND seq != ?", (now, old.tenant, old.seq)
        )
        return super().rotate(old, now)


end_other_keys: PartReplacement = replacing("keys", _OthersEnded)
ignore_capitals: PartReplacement = replacing("keys", _CapitalsIgnored)
accept_a_beginning: PartReplacement = replacing("keys", _BeginningEnough)
end_grace_early: PartReplacement = replacing("keys", _GraceOfADay)
never_end_grace: PartReplacement = replacing("keys", _GraceForEver)
list_keys_of_all: PartReplacement = replacing("keys", _KeysOfAllListed)
move_new_key: PartReplacement = replacing("keys", _NewKeyMoved)
