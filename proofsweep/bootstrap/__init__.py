"""The only wiring: settings in, working objects out."""
