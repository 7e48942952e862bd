"""Verifies one item: `verify_item` has the steps of the protocol, `item_work` what each does."""
