"""Plays a run in simulated time with the real pacer, to say when it ends and what would help. Pure: chance has a seed.

Read `rehearse`, `play`, `paced_client`, `simulated_partner`, `uplink`, `gateway` and `event_queue`; `observe` says what
earlier exchanges show of the service.
"""
