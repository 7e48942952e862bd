"""Every setting: its section, and how it is read from a profile and the environment."""
