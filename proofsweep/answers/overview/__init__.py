"""How all accounts stand, on one screen: read `values` (what is shown) first, then `gather` (where it comes from)."""
