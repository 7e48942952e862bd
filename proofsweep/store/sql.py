"""Names and texts of others in SQL: whatever is put into a query passes one of these, or is a parameter. Pure."""


def quoted(text: str) -> str:
    """Write a text as a string of SQL; DuckDB knows no other escape in it than the doubled apostrophe."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Write a name, which is not empty, as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
