"""What a leg may spend: `bounds` that a person gives, the `budget` (both pure), and the guard that threads ask."""
