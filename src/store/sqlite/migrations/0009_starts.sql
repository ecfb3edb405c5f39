-- Starts of an event's handler in a row that no decision followed, each committed before the handler runs.
ALTER TABLE counterfoil_receipts ADD COLUMN starts INTEGER NOT NULL DEFAULT 0;
