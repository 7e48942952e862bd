"""What people ask of the results store. The views are the one definition of each answer; all else reads them.

Read `views` first, then `run_status`, `summary`, `run_changes`, `export`; `report` is the HTML page, `explain` the
story of one file.
"""
