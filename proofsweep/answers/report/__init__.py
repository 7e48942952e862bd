"""The report as one HTML page, made from the views."""
