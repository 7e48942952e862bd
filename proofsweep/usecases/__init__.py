"""The stories: each module tells one thing that a person or a flow wants done."""
