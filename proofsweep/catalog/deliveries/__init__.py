"""Deliveries as DDEX messages describe them. In: messages and listed files. Out: rows, and batches of releases.

Read `batches` (the nouns), `ern` (what a message says), `locations` (where its files lie), then `delivery`.
"""
