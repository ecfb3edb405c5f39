-- Connections whose events are kept and not applied for a while; one row for each that ever was.
CREATE TABLE counterfoil_connections (
  connection TEXT PRIMARY KEY,
  paused_reason TEXT,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Those that are paused, most often none.
CREATE INDEX counterfoil_connections_paused ON counterfoil_connections (connection) WHERE paused_reason IS NOT NULL;
