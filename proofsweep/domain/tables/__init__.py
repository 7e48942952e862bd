"""The tables, declared once: every column with its type and meaning, and how a row is made.

The whole schema stands in every file from the first day, so that no reader ever infers a type.
"""
