"""What a leg may spend: the `budget` (pure), and the guard that threads ask."""
