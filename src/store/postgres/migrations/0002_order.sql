-- The key within which events of a connection are applied one after the other, where it declares one.
ALTER TABLE counterfoil.receipts ADD COLUMN order_key text COLLATE "C";

-- Events that later ones of their key wait for, the first in front.
CREATE INDEX receipts_order ON counterfoil.receipts (connection, account, order_key, rank, id)
  WHERE order_key IS NOT NULL AND outcome IN ('queued', 'held', 'parked', 'conflict');
