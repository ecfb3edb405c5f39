-- Narrow rows that every event and every step touches stand apart from bytes and history. Ids are
-- integers, given in order, so that new rows go to the end of each table, and never twice, also where
-- somebody deleted rows by hand. Instants are milliseconds since the Unix epoch.

-- One row for each known event; its key outlives its bytes. `waits_kind` and `waits_id` name what a
-- parked event waits for.
CREATE TABLE counterfoil_receipts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  connection TEXT NOT NULL,
  account TEXT NOT NULL,
  event_id TEXT NOT NULL,
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  digest TEXT NOT NULL,
  secret_id TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT,
  received_at INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  version INTEGER NOT NULL,
  due_at INTEGER,
  deadline_at INTEGER,
  rank TEXT,
  waits_kind TEXT,
  waits_id TEXT,
  UNIQUE (connection, account, event_id)
) STRICT;

-- The columns after due_at let the due events be sorted without reading their rows.
CREATE INDEX counterfoil_receipts_due ON counterfoil_receipts (due_at, connection, rank) WHERE due_at IS NOT NULL;
CREATE INDEX counterfoil_receipts_waiting ON counterfoil_receipts (tenant, waits_kind, waits_id) WHERE waits_kind IS NOT NULL;
-- Most events are applied at once; leaving them out keeps this index off the path of a fresh event.
CREATE INDEX counterfoil_receipts_outcome ON counterfoil_receipts (outcome) WHERE outcome <> 'applied';
-- What needs an operator; a query names the same condition, word for word, to be served by it.
CREATE INDEX counterfoil_receipts_attention ON counterfoil_receipts (id)
  WHERE outcome IN ('conflict', 'quarantined', 'suspect') OR (outcome IN ('held', 'parked') AND due_at IS NULL);
CREATE INDEX counterfoil_receipts_deadline ON counterfoil_receipts (deadline_at) WHERE deadline_at IS NOT NULL;

-- Bytes of an event's first delivery. `expire_at` is NULL while they must stay.
CREATE TABLE counterfoil_payloads (
  receipt_id INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL,
  headers TEXT NOT NULL,
  expire_at INTEGER
) STRICT;
CREATE INDEX counterfoil_payloads_expiry ON counterfoil_payloads (expire_at) WHERE expire_at IS NOT NULL;

-- The first redeliveries of an event, by number of delivery; `digest` is set where the content differed.
CREATE TABLE counterfoil_redeliveries (
  receipt_id INTEGER NOT NULL,
  delivery INTEGER NOT NULL,
  at INTEGER NOT NULL,
  digest TEXT,
  PRIMARY KEY (receipt_id, delivery)
) STRICT, WITHOUT ROWID;

-- Other contents that came under a known event id. Once an operator has acknowledged them their bytes
-- are gone and `open` is 0; the row stays, so that the same content is no news.
CREATE TABLE counterfoil_mismatches (
  receipt_id INTEGER NOT NULL,
  digest TEXT NOT NULL,
  at INTEGER NOT NULL,
  open INTEGER NOT NULL,
  bytes BLOB,
  headers TEXT,
  PRIMARY KEY (receipt_id, digest)
) STRICT;
CREATE INDEX counterfoil_mismatches_open ON counterfoil_mismatches (receipt_id) WHERE open = 1;

-- The second key of events whose id is not signed: which receipt first brought this content, and until
-- when the same content under another id is a copy.
CREATE TABLE counterfoil_replays (
  connection TEXT NOT NULL,
  account TEXT NOT NULL,
  type TEXT NOT NULL,
  digest TEXT NOT NULL,
  receipt_id INTEGER NOT NULL,
  lapses_at INTEGER NOT NULL,
  PRIMARY KEY (connection, account, type, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX counterfoil_replays_receipt ON counterfoil_replays (receipt_id);

-- One row for each owed effect, never deleted, so that its fence only grows. The lease is kept as
-- monotonic readings within one boot of the machine.
CREATE TABLE counterfoil_obligations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  operation_key TEXT NOT NULL,
  effect TEXT NOT NULL,
  destination TEXT NOT NULL,
  connection TEXT NOT NULL,
  account TEXT NOT NULL,
  receipt_id INTEGER,
  input_digest TEXT NOT NULL,
  state TEXT NOT NULL,
  reached TEXT NOT NULL,
  fence INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  lookups INTEGER NOT NULL,
  crashes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  due_at INTEGER,
  last_call_wall INTEGER,
  last_call_monotonic INTEGER,
  last_call_boot TEXT,
  key_since_wall INTEGER,
  key_since_monotonic INTEGER,
  key_since_boot TEXT,
  lease_worker TEXT,
  lease_boot TEXT,
  lease_from INTEGER,
  lease_until INTEGER,
  reason TEXT,
  UNIQUE (tenant, operation_key)
) STRICT;

-- What is due, apart for what calls a destination and for what only runs a hook.
CREATE INDEX counterfoil_obligations_due ON counterfoil_obligations (effect, destination, due_at)
  WHERE due_at IS NOT NULL AND state <> 'settling';
CREATE INDEX counterfoil_obligations_hooks ON counterfoil_obligations (effect, destination, due_at)
  WHERE due_at IS NOT NULL AND state = 'settling';
CREATE INDEX counterfoil_obligations_leased ON counterfoil_obligations (lease_until) WHERE lease_boot IS NOT NULL;
CREATE INDEX counterfoil_obligations_open ON counterfoil_obligations (state) WHERE state <> 'done';
CREATE INDEX counterfoil_obligations_attention ON counterfoil_obligations (id)
  WHERE state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_boot IS NULL);
CREATE INDEX counterfoil_obligations_receipt ON counterfoil_obligations (receipt_id) WHERE receipt_id IS NOT NULL;

-- What is sent, frozen when it was owed, with the input it was built from.
CREATE TABLE counterfoil_requests (
  obligation_id INTEGER PRIMARY KEY,
  method TEXT NOT NULL,
  url TEXT NOT NULL,
  content_type TEXT,
  body BLOB,
  digest TEXT NOT NULL,
  input TEXT NOT NULL
) STRICT;

-- One row for each try, numbered by the fence it ran under; `started` until its end is known.
CREATE TABLE counterfoil_attempts (
  obligation_id INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  generation INTEGER NOT NULL,
  worker TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  verdict TEXT NOT NULL,
  phase TEXT,
  status INTEGER,
  cause TEXT,
  PRIMARY KEY (obligation_id, fence)
) STRICT, WITHOUT ROWID;

-- What an attempt was answered, by its fence; fence 0 is the answer that a lookup or an operator gave.
CREATE TABLE counterfoil_answers (
  obligation_id INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  status INTEGER NOT NULL,
  body BLOB NOT NULL,
  truncated INTEGER NOT NULL,
  PRIMARY KEY (obligation_id, fence)
) STRICT;

CREATE TABLE counterfoil_destinations (
  destination TEXT PRIMARY KEY,
  paused_reason TEXT,
  updated_at INTEGER NOT NULL
) STRICT;

-- A resource's whole state at a revision. `revision` is text that sorts as the integer it encodes;
-- `state` is NULL once the resource was deleted.
CREATE TABLE counterfoil_snapshots (
  connection TEXT NOT NULL,
  account TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  revision TEXT NOT NULL,
  digest TEXT NOT NULL,
  state TEXT,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (connection, account, kind, id)
) STRICT;

CREATE TABLE counterfoil_audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  why TEXT,
  before TEXT,
  after TEXT
) STRICT;
CREATE INDEX counterfoil_audit_target ON counterfoil_audit (target);

-- A ring: the oldest rows go when new ones come.
CREATE TABLE counterfoil_refusals (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  connection TEXT NOT NULL,
  cause TEXT NOT NULL,
  facts TEXT NOT NULL
) STRICT;

-- Workers, as each tells of itself about once a minute; `effects` is a JSON list of names.
CREATE TABLE counterfoil_workers (
  name TEXT PRIMARY KEY,
  effects TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;

-- Sums that would otherwise need a scan.
CREATE TABLE counterfoil_totals (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT;
INSERT INTO counterfoil_totals (name, value) VALUES ('redeliveries', 0);
