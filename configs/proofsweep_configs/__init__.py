"""The profiles that ship with the package, by name; data only, never a secret."""
