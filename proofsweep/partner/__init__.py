"""Speaks HTTP with the partner. In: work items, settings as values. Out: answers, and one `Exchange` for each call.

Read `partner` (a method for each endpoint, and the form of a slot), `session` (the calls of one item), `transport` (one
HTTP exchange) and `retry` (what follows a failure). `pacing` decides when a call may go.
"""
