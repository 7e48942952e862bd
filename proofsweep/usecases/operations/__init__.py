"""What all operations share: they write down their calls and rows, and end in a receipt."""
