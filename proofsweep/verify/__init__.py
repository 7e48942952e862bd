"""The way of a row. In: a plan. Out: one row for each item and one for each call, in parts that a receipt names.

Read `plan`, `attempt` (from lease to receipt), `worker`, `item` (the numbered steps of the contract) and `commit`.
`attribution` decides whose fault a strange outcome is, `budget` whether another item may begin.
"""
