"""Process notes of accepted proofs: asked for until they are ready."""
