"""Where Prefect meets the core: each task is one call of the core."""

from proofsweep.allocators import keep_memory_small

keep_memory_small()  # before a module is imported that needs Arrow
