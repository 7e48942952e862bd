"""How properties are tried out here: few examples, and no clock that could fail a slow machine."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=40)
settings.load_profile("unhurried")
