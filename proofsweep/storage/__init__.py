"""Read catalogs and their files, and read and write the results store."""
