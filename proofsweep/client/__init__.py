"""Speaks HTTP with the partner. In: bytes and words of the contract. Out: answers, and one `Exchange` for each call.

Read `client` (a method for each endpoint, and the form of a slot), `session` (the calls of one item), `transport` (one
HTTP exchange, over httpx), `reply` (what it asks for, and what came of it) and `retry` (what follows a failure).
The room `pacing` decides when a call may go.
"""
