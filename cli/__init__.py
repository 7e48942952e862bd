"""The command line: arguments, then a flow or a use case, then what the person sees, and an exit code."""
