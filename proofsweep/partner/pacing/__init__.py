"""Decides when a call may go. Pure but for `dispatcher`, the one door that threads share; the clock is an argument.

Read `dispatcher`, `call_queue`, `pacer`, `token_bucket` and `concurrency_limit`.
"""
