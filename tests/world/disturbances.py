"""What disturbs a world: each fault is drawn as an event, which can be left out by its number.

So a failure is told by its shortest story: without this event it does not happen.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bucket import Bucket, StoreWeather
from disk import SHARES
from drop_folder import DropFolder
from kernel import Process, World
from music import Music
from partner import KEY, NEXT_KEY, Partner, Weather

_SKEWS = (0.0, 1.5, 40.0, 3_700.0, 86_400.0, 40 * 86_400.0)


@dataclass
class Disturbances:
    """Draws what disturbs the worlds of a level; events in `without` are drawn, and do not happen."""

    level: str
    world: World
    partner: Partner
    bucket: Bucket
    music: Music
    without: Collection[int] = ()
    drop_folder: DropFolder | None = None
    is_mounted: bool = False  # whether the store is a share that may go
    events: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=lambda: ["one"])
    skews: dict[str, float] = field(default_factory=lambda: {"one": 0.0, "two": 0.0})

    def __post_init__(self) -> None:
        self.random = self.world.stream("disturbances")

    def has(self, *levels: str) -> bool:
        """Whether what some levels have happens in this world: in the level `all`, half of it does."""
        return self.level in levels or (self.level == "all" and self.random.random() < 0.5)

    def event(self, words: str, happens: Callable[[], object]) -> None:
        number = len(self.events)
        self.events.append(words)
        if number not in self.without:
            self.world.tell(f"event {number}:", words, of="world")
            happens()

    def threaten(self, process: Process, delay: float) -> None:
        """Draw how a process that begins after a delay is killed or frozen, if it is."""
        random, world = self.random, self.world
        share = 0.4 if self.level == "store" else 0.6
        if self.has("kills", "store", "clocks", "lag", "gateway") and random.random() < share:
            if random.random() < 0.5:
                at = world.now + delay + random.uniform(0.0, 8.0)
                self.event(f"kill {process} at {at:.3f}", lambda: world.at(at, lambda: world.kill(process)))
            else:
                write = (random.randint(1, 30), random.random() < 0.5)
                words = f"kill {process} {'after' if write[1] else 'before'} write {write[0]}"
                self.event(words, lambda: setattr(process, "dies_at_write", write))
        once = world.stream("one failure")
        if once.random() < {"store": 0.8, "gateway": 0.4, "all": 0.4}.get(self.level, 0.0):
            number = once.randint(20, 90)
            words = f"store fails the request {number} of {process}"
            self.event(words, lambda: setattr(process, "fails_at_request", number))
        if self.has("two", "kills", "clocks", "gateway") and random.random() < 0.25:
            at = world.now + delay + random.uniform(0.0, 6.0)
            seconds = random.choice((2.0, 12.0, 45.0, 300.0))
            words = f"freeze {process} at {at:.3f} for {seconds:.0f} s"
            self.event(words, lambda: world.at(at, lambda: world.freeze(process, seconds)))

    def threaten_pass(self, process: Process, delay: float) -> None:
        """Draw how a pass is killed or frozen, if it is: often at a step of its moves; a file takes some ten."""
        if not self.has("kills", "clocks", "gateway") or self.random.random() < 0.4:
            self.threaten(process, delay)
        else:
            step = (self.random.randint(1, 20), self.random.random() < 0.5)
            words = f"kill {process} {'after' if step[1] else 'before'} step {step[0]} of its moves"
            self.event(words, lambda: setattr(process, "dies_at_step", step))

    def of_night(self) -> None:
        """Draw what disturbs the partner, the store, the clocks and the files in this night."""
        if self.has("clocks"):
            self._draw_clocks()
        if self.has("two", "gateway"):
            self.hosts = self.random.choice((["one"], ["one", "two"]))
        if self.has("network"):
            for _ in range(self.random.randint(1, 3)):
                self._draw_network()
            self._draw_partner()
        self._draw_long_waits()
        self._draw_spells()
        if self.has("store", "gateway"):
            for _ in range(self.random.randint(1, 3)):
                self._draw_store()
        if self.has("mounts"):
            self._draw_mounts()
        self._draw_shares()
        if self.has("lag"):
            seconds = self.random.choice((0.3, 3.0, 20.0))
            self.event(f"listings lag by up to {seconds} s", lambda: setattr(self.bucket, "lag_seconds", seconds))
        if self.has("gateway"):
            self.event("two creates pass", lambda: setattr(self.bucket, "lets_two_through", True))

    def _draw_clocks(self) -> None:
        """Draw how wrong clocks are: the partner's once, in the first night; if it tells none, the others are right."""
        self.hosts, is_first = ["one", "two"], self.world.now == 0.0
        skews = {host: self.random.choice(_SKEWS) * self.random.choice((-1, 1)) for host in self.hosts}
        skew, has_date = self.random.choice((0.0, 2.0, -90.0, 4_000.0)), self.random.random() > 0.2
        if is_first and has_date:
            self.event(f"the partner's clock is {skew} s ahead", lambda: setattr(self.partner, "skew", skew))
        elif is_first:
            self.event("answers have no date", lambda: setattr(self.partner, "tells_date", False))
        if self.partner.tells_date:
            self.event(f"clocks are {skews}", lambda: self.skews.update(skews))

    def _spell(self) -> tuple[float, float]:
        """Draw when something begins and ends, in seconds of the world."""
        since = self.world.now + self.random.choice((0.0, self.random.uniform(0.0, 6.0)))
        return since, since + self.random.choice((0.3, 2.0, 8.0, 30.0, 90.0))

    def _draw_network(self) -> None:
        since, until = self._spell()
        kind = self.random.choice(("refuses", "breaks", "errors", "errors", "throttles", "forbids", "hangs", "garbles"))
        share = self.random.choice((0.05, 0.2, 0.5, 1.0))
        if kind in {"hangs", "garbles"}:
            share = min(share, 0.2)
        calls = self.random.choice(((), (), ("uploads",), ("slot",), ("verify",)))
        weather = Weather(since=since, until=until, calls=calls)
        setattr(weather, kind, share)
        where = ", ".join(calls) or "all"
        words = f"network {kind} {share} of {where} from {since:.1f} to {until:.1f}"
        self.event(words, lambda: self.partner.weather.append(weather))
        if self.random.random() < 0.2:
            self.event("no Retry-After", lambda: setattr(self.partner, "tells_retry_after", False))

    def _draw_partner(self) -> None:
        """Draw how the partner is unlike other nights: no fault, but its ways."""
        partner, random = self.partner, self.world.stream("ways of the partner")
        since, until = self.world.now + random.uniform(0.0, 1.0), self.world.now + random.uniform(1.0, 20.0)
        if random.random() < 0.25:
            seconds = random.choice((0.15, 0.3, 1.0))
            self.event(f"slots last {seconds} s", lambda: setattr(partner, "slot_seconds", seconds))
            self.world.at(until, lambda: setattr(partner, "slot_seconds", 900.0))
        if random.random() < 0.25:
            echo = Weather(since=since, until=until, echoes=random.choice((0.1, 0.5)))
            self.event("answers come twice", lambda: partner.weather.append(echo))
        if random.random() < 0.3:
            quota = random.randint(3, 30)
            self.event(f"a quota of {quota} calls", lambda: setattr(partner, "quota", quota))
        if random.random() < 0.3 and partner.key == KEY:
            late = until if random.random() < 0.5 else since
            words = f"another key from {since:.1f} on, which is here at {late:.1f}"
            self.event(words, lambda: self._swap(since, late, self._renew_key, self._lay_key))

    def _draw_long_waits(self) -> None:
        random = self.world.stream("long waits")
        if self.level not in {"network", "two"} or random.random() > 0.25:
            return
        since, until = self.world.now + random.uniform(0.0, 1.0), self.world.now + random.uniform(1.0, 20.0)
        seconds = random.choice((3.0, 20.0, 90.0))
        kind = random.choice(("throttles", "throttles", "errors")) if self.level == "network" else "throttles"
        weather = Weather(since=since, until=until, asks_seconds=seconds)
        setattr(weather, kind, random.choice((0.05, 0.2)))
        words = f"network {kind} now and then from {since:.1f} to {until:.1f}, and asks to wait {seconds:.0f} s"
        self.event(words, lambda: self.partner.weather.append(weather))

    def _draw_spells(self) -> None:
        """Draw outages that come again and again, or an hour in which half of all calls fail."""
        random = self.world.stream("spells")
        if self.level != "network" or random.random() > 0.3:
            return
        since, kind = self.world.now + random.uniform(0.0, 3.0), random.choice(("errors", "refuses", "breaks"))
        if random.random() < 0.3:
            flaky = Weather(since=since, until=since + 300.0, errors=0.5)
            self.event(f"network errors 0.5 of all from {since:.1f} on", lambda: self.partner.weather.append(flaky))
            return
        down, up = random.choice((3.0, 8.0, 30.0)), random.choice((1.5, 4.0))
        spells = [Weather(since=since + number * (down + up)) for number in range(8)]
        for spell in spells:
            spell.until = spell.since + down
            setattr(spell, kind, 1.0)
        words = f"network {kind} all for {down:.0f} s, again and again after {up} s, from {since:.1f} on"
        self.event(words, lambda: self.partner.weather.extend(spells))

    def _renew_key(self) -> None:
        self.partner.key = NEXT_KEY

    def _lay_key(self) -> None:
        (self.music.folder.parent / "key").write_text(self.partner.key)

    def _draw_store(self) -> None:
        since, until = self._spell()
        weather = StoreWeather(since=since, until=until)
        kind = self.random.choice(("fails_before", "fails_after", "hangs", "is_away"))
        share = self.random.choice((0.03, 0.1, 0.4))
        setattr(weather, kind, True if kind == "is_away" else share)
        words = f"store {kind} {share if kind != 'is_away' else ''} from {since:.1f} to {until:.1f}"
        if kind == "fails_after" and self.world.stream("who looks then").random() < 0.5:
            weather.fails_before = share  # who looks whether a write happened may get no answer either
            words += ", and before"
        self.event(words, lambda: self.bucket.weather.append(weather))
        self._draw_stalls()

    def _draw_stalls(self) -> None:
        """Let requests hang for longer than anybody waits, as those to a hard mount do."""
        random = self.world.stream("draws of stalls")
        if random.random() < 0.25:
            since = self.world.now + random.uniform(0.0, 6.0)
            weather = StoreWeather(since=since, until=since + random.choice((2.0, 30.0)))
            weather.stalls = random.choice((0.05, 0.5, 1.0))
            words = f"store stalls {weather.stalls} from {since:.1f} to {weather.until:.1f}"
            self.event(words, lambda: self.bucket.weather.append(weather))

    def _draw_mounts(self) -> None:
        """Take the store or the music away for a while: an empty place stands there meanwhile."""
        since, until = self._spell()
        if self.random.random() < 0.5:
            if not self.is_mounted:
                return
            words = f"store is an empty one from {since:.1f} to {until:.1f}"
            self.event(words, lambda: self._swap(since, until, self._take_store, self._give_store))
        else:
            is_gone = self.random.random() < 0.5
            words = f"music is {'gone' if is_gone else 'empty'} from {since:.1f} to {until:.1f}"
            self.event(words, lambda: self._swap(since, until, lambda: self._take_music(is_gone), self.give_music))

    def _draw_shares(self) -> None:
        """Let a share of the watched folder or a target go away for a while, or fail in part."""
        random, now, drops = self.world.stream("shares"), self.world.now, self.drop_folder
        if drops is None:
            return
        if self.level != "mounts" and (self.level != "all" or random.random() < 0.5):
            return
        for _ in range(random.randint(1, 2)):
            since = now + random.choice((0.0, random.uniform(0.0, 60.0), random.uniform(0.0, 15.0)))
            until = since + random.choice((2.0, 8.0, 30.0, 90.0))
            times = f"from {since:.1f} to {until:.1f}"
            if random.random() < 0.7:
                place, how = random.choice(drops.places), random.choice(("gone", "empty", "fails"))
                words = f"the share of {place.name} is away ({how}) {times}"
                take, give = partial(self._take_share, drops, place, how), partial(drops.give_back, place)
                if random.random() < 0.5:
                    self._draw_step(take, give, f"the share of {place.name} is away ({how})")
                    continue
            else:
                failing, where = random.choice(
                    ((SHARES.unread, drops.folder), (SHARES.unlisted, drops.folder / random.choice(("north", "south"))))
                )
                kind = "files" if failing is SHARES.unread else "the listing"
                words = f"{kind} of {where.name} cannot be read {times}"
                take, give = partial(failing.add, str(where)), partial(failing.discard, str(where))
            self.event(words, partial(self._swap, since, until, take, give))

    def _draw_step(self, take: Callable[[], None], give: Callable[[], None], words: str) -> None:
        """Let a share go right before a step of the moves."""
        random = self.world.stream("shares")
        step, seconds = SHARES.steps + random.randint(1, 20), random.choice((2.0, 8.0, 90.0))

        def go() -> None:
            take()
            self.world.at(self.world.now + seconds, give)

        happens = partial(SHARES.at_steps.setdefault, step, go)
        self.event(f"{words} from step {step} of all moves for {seconds:.0f} s", happens)

    def _swap(self, since: float, until: float, take: Callable[[], None], give: Callable[[], None]) -> None:
        self.world.at(since, take)
        self.world.at(until, give)

    def _take_store(self) -> None:
        if self.bucket.kept is None:
            self.world.tell("STORE AWAY")
            self.bucket.kept, self.bucket.objects = self.bucket.objects, {}
            self.bucket.absence = StoreWeather(since=self.world.now)  # for the checks: it fails no request
            self.bucket.weather.append(self.bucket.absence)

    def _give_store(self) -> None:
        if self.bucket.kept is not None:
            self.world.tell("STORE BACK")
            self.bucket.lost += len(self.bucket.objects)
            self.bucket.objects, self.bucket.kept = self.bucket.kept, None
            self.bucket.absence.until = self.world.now

    def _take_share(self, drops: DropFolder, place: Path, how: str) -> None:
        """Let a share go; but of a target nobody knows that it is one before a pass has written that down."""
        if place == drops.folder or self.bucket.was_watched:
            drops.take_away(place, how)

    @property
    def _aside(self) -> Path:
        return self.music.folder.with_name("music aside")

    def _take_music(self, is_gone: bool) -> None:
        if not self._aside.exists():
            self.world.tell("MUSIC AWAY")
            self.music.folder.rename(self._aside)
            if not is_gone:
                self.music.folder.mkdir()

    def give_music(self) -> None:
        if self._aside.exists():
            self.world.tell("MUSIC BACK")
            if self.music.folder.exists():
                self.music.folder.rmdir()
            self._aside.rename(self.music.folder)

    def end(self) -> None:
        """End all faults of the partner, the store and the files."""
        self.give_music()
        self._give_store()
        for place in () if self.drop_folder is None else self.drop_folder.places:
            self.drop_folder.give_back(place)
        SHARES.at_steps.clear()
        SHARES.unlisted.clear()
        SHARES.unread.clear()
        for weather in (*self.partner.weather, *self.bucket.weather):  # the checks ask what there was
            weather.until = min(weather.until, self.world.now)
        self._lay_key()
        self.partner.slot_seconds, self.partner.quota = 900.0, 1_000_000
        self.bucket.lag_seconds, self.bucket.lets_two_through = 0.0, False
        self.partner.tells_retry_after = True
