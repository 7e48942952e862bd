-- One row for each HTTP exchange, retries included. Its environment is that of its run.
SELECT * FROM store.exchanges SEMI JOIN runs USING (run_id)
