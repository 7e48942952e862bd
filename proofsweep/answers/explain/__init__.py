"""What the store knows about one file, one call or one run, and the packet that the partner's support gets."""
