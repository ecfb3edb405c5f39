-- One row for each resource that was ever asked for at its source, never deleted, so that its ticket only
-- grows. `again` is set where it was asked for once more while it was being fetched; `lease_until` while it is.
CREATE TABLE counterfoil_refreshes (
  connection TEXT NOT NULL,
  account TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  ticket INTEGER NOT NULL,
  again INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  due_at INTEGER,
  lease_until INTEGER,
  reason TEXT,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (connection, account, kind, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX counterfoil_refreshes_due ON counterfoil_refreshes (kind, due_at) WHERE due_at IS NOT NULL;
-- What failed for good, for the operator.
CREATE INDEX counterfoil_refreshes_failed ON counterfoil_refreshes (connection, account, kind, id)
  WHERE due_at IS NULL AND reason IS NOT NULL;
