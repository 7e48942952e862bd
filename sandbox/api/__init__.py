"""The API: contract 2.4.2's eleven endpoints, one module for each resource."""
