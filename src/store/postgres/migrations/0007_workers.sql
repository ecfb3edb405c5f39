-- When a worker ended in order: until then, one that was seen lately counts as running.
ALTER TABLE counterfoil.workers ADD COLUMN stopped_at bigint;
