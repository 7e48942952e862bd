"""The API: the eleven endpoints of contract 2.4.2, one module per resource, behind `gateway.py`."""
