"""JSON from outside, which may be anything."""

import json


def decoded(text: bytes) -> object:
    """Decode JSON; raise ValueError for whatever is none, and for what no registry could hold.

    Lone surrogates are legal in JSON and cannot be stored or sent on; nesting without end would exhaust the stack.
    """
    try:
        value: object = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    return value
