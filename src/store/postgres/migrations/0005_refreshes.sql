-- One row for each resource that was ever asked for at its source, never deleted, so that its ticket only
-- grows. `again` is set where it was asked for once more while it was being fetched; `lease_until` while it is.
CREATE TABLE counterfoil.refreshes (
  connection text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  ticket bigint NOT NULL,
  again boolean NOT NULL,
  tries integer NOT NULL,
  due_at bigint,
  lease_until bigint,
  reason text,
  updated_at bigint NOT NULL,
  PRIMARY KEY (connection, account, kind, id)
) WITH (fillfactor = 70);

CREATE INDEX refreshes_due ON counterfoil.refreshes (kind, due_at) WHERE due_at IS NOT NULL;
-- What failed for good, for the operator.
CREATE INDEX refreshes_failed ON counterfoil.refreshes (connection, account, kind, id)
  WHERE due_at IS NULL AND reason IS NOT NULL;
