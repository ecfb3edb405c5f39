-- Connections whose events are kept and not applied for a while; one row for each that ever was.
CREATE TABLE counterfoil.connections (
  connection text COLLATE "C" PRIMARY KEY,
  paused_reason text,
  updated_at bigint NOT NULL
);

-- Those that are paused, most often none.
CREATE INDEX connections_paused ON counterfoil.connections (connection) WHERE paused_reason IS NOT NULL;
