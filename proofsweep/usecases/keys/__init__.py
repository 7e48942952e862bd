"""List the partner's keys, and rotate the one in use."""
