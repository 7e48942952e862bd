"""Where bytes lie: catalogs and their files on one side, the results store on the other."""
