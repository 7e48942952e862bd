"""Simulate a partner with a limited lane and clients that call it: hours of traffic in seconds."""
