"""The tables, declared once: each column with its type and meaning, and how a row is made.

Every file has the whole schema, so that no reader must infer a type.
"""
