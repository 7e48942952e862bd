"""What runs: one Prefect flow per file, each reads like a table of contents."""

from proofsweep.allocators import keep_memory_small

keep_memory_small()  # before a module is imported that needs Arrow
