-- The key within which events of a connection are applied one after the other, where it declares one.
ALTER TABLE counterfoil_receipts ADD COLUMN order_key TEXT;

-- Events that later ones of their key wait for, the first in front.
CREATE INDEX counterfoil_receipts_order ON counterfoil_receipts (connection, account, order_key, rank IS NULL, rank)
  WHERE order_key IS NOT NULL AND outcome IN ('queued', 'held', 'parked', 'conflict');
