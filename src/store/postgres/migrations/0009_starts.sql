-- Starts of an event's handler in a row that no decision followed, each committed before the handler runs.
ALTER TABLE counterfoil.receipts ADD COLUMN starts integer NOT NULL DEFAULT 0;
