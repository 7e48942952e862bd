"""Where Prefect touches us: a core call wearing a coat."""
