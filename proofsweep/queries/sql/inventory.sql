-- One row for each proof of the last inventory that came to its end: the rows of `proofs` that count. One that was killed
-- may have left a part of its rows there.
SELECT proofs.* FROM proofs SEMI JOIN store.last_inventories USING (operation_id)
