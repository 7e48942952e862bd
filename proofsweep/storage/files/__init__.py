"""One audio file or sidecar: where it lies, what it is, its bytes."""
