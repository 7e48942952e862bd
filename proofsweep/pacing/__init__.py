"""When the next call may go. In: how each call ended. Out: leave to send one. No HTTP, no store, no Prefect.

Read `scheduler` (who may send now), `call_queue` (which call goes first, and the pace of all), `pacer` (what rate is
learned from answers), `lane_model` (what the answers say of the partner's limit), `rate_share` (several processes with
one key) and `circuit_breaker` (an outage). README.md says what was tried, with figures.
"""
