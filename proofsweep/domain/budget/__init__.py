"""What a leg may spend, has spent and will spend: pure."""
