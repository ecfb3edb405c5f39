-- Narrow rows that every event and every step touches stand apart from bytes and history. Instants are
-- milliseconds since the Unix epoch, by this database's clock. What names something compares as bytes,
-- whatever the database's collation. `counterfoil` stands for the schema that was chosen.

-- One row for each known event; its key outlives its bytes. `waits_kind` and `waits_id` name what a
-- parked event waits for. Never partitioned: the key has to be unique on its own.
CREATE TABLE counterfoil.receipts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  connection text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  secret_id text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  reason text,
  received_at bigint NOT NULL,
  decided_at bigint NOT NULL,
  tries integer NOT NULL,
  version integer NOT NULL,
  due_at bigint,
  deadline_at bigint,
  rank text COLLATE "C",
  waits_kind text COLLATE "C",
  waits_id text COLLATE "C",
  UNIQUE (connection, account, event_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- What became due together is in the order in which it is to be applied.
CREATE INDEX receipts_due ON counterfoil.receipts (due_at, rank, id) WHERE due_at IS NOT NULL;
CREATE INDEX receipts_waiting ON counterfoil.receipts (tenant, waits_kind, waits_id) WHERE waits_kind IS NOT NULL;
-- Most events are applied at once; leaving them out keeps this index off the path of a fresh event.
CREATE INDEX receipts_outcome ON counterfoil.receipts (outcome, id) WHERE outcome <> 'applied';
-- What needs an operator; a query names the same condition, word for word, to be served by it.
CREATE INDEX receipts_attention ON counterfoil.receipts (id)
  WHERE outcome IN ('conflict', 'quarantined', 'suspect') OR (outcome IN ('held', 'parked') AND due_at IS NULL);
CREATE INDEX receipts_deadline ON counterfoil.receipts (deadline_at) WHERE deadline_at IS NOT NULL;

-- Bytes of an event's first delivery. `expire_at` is NULL while they must stay.
CREATE TABLE counterfoil.payloads (
  receipt_id bigint PRIMARY KEY,
  bytes bytea NOT NULL,
  headers text NOT NULL,
  expire_at bigint
);
CREATE INDEX payloads_expiry ON counterfoil.payloads (expire_at) WHERE expire_at IS NOT NULL;

-- How often a known event came again. Apart from its receipt, so that a redelivery neither waits for
-- whoever applies the event now nor rewrites its row.
CREATE TABLE counterfoil.redelivered (
  receipt_id bigint PRIMARY KEY,
  times bigint NOT NULL
) WITH (fillfactor = 70);

-- The first redeliveries of an event, by number; `digest` is set where the content differed.
CREATE TABLE counterfoil.redeliveries (
  receipt_id bigint NOT NULL,
  number bigint NOT NULL,
  at bigint NOT NULL,
  digest text COLLATE "C",
  PRIMARY KEY (receipt_id, number)
);

-- Other contents that came under a known event id. Once an operator has acknowledged them their bytes
-- are gone and `open` is false; the row stays, so that the same content is no news.
CREATE TABLE counterfoil.mismatches (
  receipt_id bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  open boolean NOT NULL,
  bytes bytea,
  headers text,
  PRIMARY KEY (receipt_id, digest)
);
CREATE INDEX mismatches_open ON counterfoil.mismatches (receipt_id) WHERE open;

-- The second key of events whose id is not signed: which receipt first brought this content, and until
-- when the same content under another id is a copy.
CREATE TABLE counterfoil.replays (
  connection text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  receipt_id bigint NOT NULL,
  lapses_at bigint NOT NULL,
  PRIMARY KEY (connection, account, type, digest)
);
CREATE INDEX replays_receipt ON counterfoil.replays (receipt_id);

-- One row for each owed effect, never deleted. Written when it is owed and once more when it is done:
-- the columns from `state` on are NULL until then, and stand in `progress` meanwhile. None of them is
-- indexed and pages keep room, so that the second write touches no index.
CREATE TABLE counterfoil.obligations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  operation_key text COLLATE "C" NOT NULL,
  effect text COLLATE "C" NOT NULL,
  destination text COLLATE "C" NOT NULL,
  connection text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  receipt_id bigint,
  input_digest text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  state text COLLATE "C",
  reached text COLLATE "C",
  fence bigint,
  generation integer,
  tries integer,
  lookups integer,
  crashes integer,
  updated_at bigint,
  last_call_wall bigint,
  last_call_monotonic bigint,
  last_call_boot text COLLATE "C",
  key_since_wall bigint,
  key_since_monotonic bigint,
  key_since_boot text COLLATE "C",
  reason text,
  UNIQUE (tenant, operation_key)
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX obligations_receipt ON counterfoil.obligations (receipt_id) WHERE receipt_id IS NOT NULL;

-- What moves with every step of an obligation that is not done, its lease included. Finished rows leave
-- it: it is as small as the work that is left, and vacuumed often. Its fence only grows and goes on in
-- `obligations`.
CREATE TABLE counterfoil.progress (
  obligation_id bigint PRIMARY KEY,
  effect text COLLATE "C" NOT NULL,
  destination text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  reached text COLLATE "C" NOT NULL,
  fence bigint NOT NULL,
  generation integer NOT NULL,
  tries integer NOT NULL,
  lookups integer NOT NULL,
  crashes integer NOT NULL,
  updated_at bigint NOT NULL,
  due_at bigint,
  last_call_wall bigint,
  last_call_monotonic bigint,
  last_call_boot text COLLATE "C",
  key_since_wall bigint,
  key_since_monotonic bigint,
  key_since_boot text COLLATE "C",
  lease_worker text,
  lease_kind text COLLATE "C",
  lease_from bigint,
  lease_until bigint,
  reason text,
  -- Runs the hook from the stored answer, and calls nobody.
  hook boolean NOT NULL GENERATED ALWAYS AS (state = 'settling') STORED
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 1000
);

-- What is due, in the order in which it is claimed.
CREATE INDEX progress_due ON counterfoil.progress (hook, effect, destination, due_at, obligation_id)
  WHERE due_at IS NOT NULL;
CREATE INDEX progress_leased ON counterfoil.progress (lease_until) WHERE lease_until IS NOT NULL;
-- The states that few are in at a time.
CREATE INDEX progress_rare ON counterfoil.progress (state, obligation_id) WHERE state NOT IN ('owed', 'sending');
CREATE INDEX progress_attention ON counterfoil.progress (obligation_id)
  WHERE state = 'stuck' OR (state IN ('uncertain', 'settling') AND due_at IS NULL AND lease_until IS NULL);

-- What is sent, frozen when it was owed, with the input it was built from.
CREATE TABLE counterfoil.requests (
  obligation_id bigint PRIMARY KEY,
  method text NOT NULL,
  url text NOT NULL,
  content_type text,
  body bytea,
  digest text COLLATE "C" NOT NULL,
  input text NOT NULL
);

-- One row for each try that its holder has let go of, numbered by the fence it ran under. The try of a
-- live lease stands in `progress`, which was committed before its first byte.
CREATE TABLE counterfoil.attempts (
  obligation_id bigint NOT NULL,
  fence bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  worker text NOT NULL,
  started_at bigint NOT NULL,
  ended_at bigint,
  verdict text COLLATE "C" NOT NULL,
  phase text COLLATE "C",
  status integer,
  cause text,
  PRIMARY KEY (obligation_id, fence)
);

-- What an attempt was answered, by its fence; fence 0 is the answer that a lookup or an operator gave.
CREATE TABLE counterfoil.answers (
  obligation_id bigint NOT NULL,
  fence bigint NOT NULL,
  status integer NOT NULL,
  body bytea NOT NULL,
  truncated boolean NOT NULL,
  PRIMARY KEY (obligation_id, fence)
);

CREATE TABLE counterfoil.destinations (
  destination text COLLATE "C" PRIMARY KEY,
  paused_reason text,
  updated_at bigint NOT NULL
);

-- A resource's whole state at a revision; `state` is NULL once the resource was deleted.
CREATE TABLE counterfoil.snapshots (
  connection text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  revision numeric NOT NULL,
  digest text COLLATE "C" NOT NULL,
  state text,
  updated_at bigint NOT NULL,
  PRIMARY KEY (connection, account, kind, id)
) WITH (fillfactor = 80);

CREATE TABLE counterfoil.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  who text NOT NULL,
  action text NOT NULL,
  target text COLLATE "C" NOT NULL,
  why text,
  before text,
  after text
);
CREATE INDEX audit_target ON counterfoil.audit (target, id);

-- A ring: the oldest rows go when new ones come.
CREATE TABLE counterfoil.refusals (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  connection text COLLATE "C" NOT NULL,
  cause text COLLATE "C" NOT NULL,
  facts text NOT NULL
);

-- Workers, as each tells of itself about once a minute; `effects` is a JSON list of names.
CREATE TABLE counterfoil.workers (
  name text COLLATE "C" PRIMARY KEY,
  effects text NOT NULL,
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL
) WITH (fillfactor = 50);

-- Rows that say nothing: writing one shows whether a commit is kept.
CREATE TABLE counterfoil.touches (
  slot integer PRIMARY KEY,
  at bigint NOT NULL
) WITH (fillfactor = 10);
