"""Verifies one item: `verify_item` has the steps of the protocol, `download_asset` those before them for a proof."""
