"""Decides when a call may go. Pure but for `dispatcher`, the one door that threads share; the clock is an argument.

Read `dispatcher`, `call_queue`, `concurrency_limit`, `pacer`, `lane_model` and `refusals`.
"""
