"""A simulated partner with a lane of limited rate, and clients that call it: hours of traffic in seconds."""
