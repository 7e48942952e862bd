"""Decode untrusted JSON."""

import json


def decoded(text: bytes) -> object:
    """Decode JSON; raise ValueError for invalid JSON and for JSON that cannot be stored.

    A lone surrogate is legal in JSON, but has no UTF-8 form. Very deep nesting exhausts the stack.
    """
    try:
        value: object = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    return value
