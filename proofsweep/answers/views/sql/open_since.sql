-- Stand-in.
SELECT environment, item_id, finished_at AS since FROM rejects
