--! breaking
-- An older worker would send what waits for its turn, and what was taken back.

-- Tenant and order key. Of one order key, what has not taken effect yet is sent in the order of the ids:
-- only the first may have a due time.
ALTER TABLE counterfoil.obligations ADD COLUMN order_key text COLLATE "C";
-- The wish for a later time, apart from due_at, which moves with every step.
ALTER TABLE counterfoil.obligations ADD COLUMN not_before bigint;

-- Taking back what is owed: no new attempt begins once it is asked for.
ALTER TABLE counterfoil.progress ADD COLUMN cancel_requested boolean NOT NULL DEFAULT false;
-- As in `obligations`, for the index.
ALTER TABLE counterfoil.progress ADD COLUMN order_key text COLLATE "C";
ALTER TABLE counterfoil.progress ADD COLUMN not_before bigint;
CREATE INDEX progress_order ON counterfoil.progress (order_key, obligation_id)
  WHERE order_key IS NOT NULL AND state IN ('owed', 'sending', 'uncertain', 'stuck');

-- What was given up or taken back may have a hook to run, and calls nobody either.
ALTER TABLE counterfoil.progress DROP COLUMN hook;
ALTER TABLE counterfoil.progress ADD COLUMN hook boolean NOT NULL
  GENERATED ALWAYS AS (state IN ('settling', 'withdrawn', 'cancelled')) STORED;
CREATE INDEX progress_due ON counterfoil.progress (hook, effect, destination, due_at, obligation_id)
  WHERE due_at IS NOT NULL;

-- A closed obligation that counts tries has a hook that failed.
UPDATE counterfoil.progress SET tries = 0 WHERE state IN ('withdrawn', 'cancelled');
DROP INDEX counterfoil.progress_attention;
CREATE INDEX progress_attention ON counterfoil.progress (obligation_id)
  WHERE state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_until IS NULL)
    OR (state IN ('withdrawn', 'cancelled') AND tries > 0 AND due_at IS NULL AND lease_until IS NULL);
