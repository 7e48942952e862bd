"""Property tests run few examples here, and no time limit that a slow machine would miss."""

from hypothesis import settings

settings.register_profile("few_examples", deadline=None, max_examples=40)
settings.load_profile("few_examples")
