--! breaking
-- An older worker would send what waits for its turn, and what was taken back.

-- Taking back what is owed: no new attempt begins once it is asked for.
ALTER TABLE counterfoil_obligations ADD COLUMN cancel_requested INTEGER NOT NULL DEFAULT 0;
-- The wish for a later time, apart from due_at, which moves with every step.
ALTER TABLE counterfoil_obligations ADD COLUMN not_before INTEGER;
-- Tenant and order key. Of one order key, what has not taken effect yet is sent in the order of the ids:
-- only the first may have a due time.
ALTER TABLE counterfoil_obligations ADD COLUMN order_key TEXT;
CREATE INDEX counterfoil_obligations_order ON counterfoil_obligations (order_key, id)
  WHERE order_key IS NOT NULL AND state IN ('owed', 'sending', 'uncertain', 'stuck');

-- What was given up or taken back may have a hook to run, and calls nobody either.
DROP INDEX counterfoil_obligations_due;
DROP INDEX counterfoil_obligations_hooks;
CREATE INDEX counterfoil_obligations_due ON counterfoil_obligations (effect, destination, due_at)
  WHERE due_at IS NOT NULL AND state NOT IN ('settling', 'withdrawn', 'cancelled');
CREATE INDEX counterfoil_obligations_hooks ON counterfoil_obligations (effect, destination, due_at)
  WHERE due_at IS NOT NULL AND state IN ('settling', 'withdrawn', 'cancelled');

-- A closed obligation that counts tries has a hook that failed.
UPDATE counterfoil_obligations SET tries = 0 WHERE state IN ('withdrawn', 'cancelled');
DROP INDEX counterfoil_obligations_attention;
CREATE INDEX counterfoil_obligations_attention ON counterfoil_obligations (id)
  WHERE state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_boot IS NULL)
    OR (state IN ('withdrawn', 'cancelled') AND tries > 0 AND due_at IS NULL AND lease_boot IS NULL);
