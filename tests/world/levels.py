"""The levels of worlds, by what disturbs them. The disturbances themselves are drawn in `disturbances`."""

COUNTS = {
    "quiet": 25,  # nothing
    "kills": 25,  # processes are killed and frozen
    "store": 20,  # requests to the store fail, and processes are killed
    "network": 25,  # calls of the partner fail, hang or come to nothing
    "two": 6,  # several processes at once, on one host or two
    "clocks": 25,  # wall clocks are wrong
    "mounts": 34,  # an empty place stands where the store or the music was
    "lag": 8,  # listings of the store lack what was just written
    "gateway": 16,  # two creates of one name may both pass
    "all": 16,  # each of these, or not
}
"""How many `make test` plays of each: two hundred, of the quick ones more than of those in which much happens."""

LEVELS = tuple(COUNTS)
SMALL_BELOW = 1_000  # worlds of these seeds are small: one night of few files
