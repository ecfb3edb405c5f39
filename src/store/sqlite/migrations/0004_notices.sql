-- Whom the application was told of that needs a person: a mark for each thing that is on the list. Until
-- `until` somebody is telling it; after that, when it is not told, anybody may.
CREATE TABLE counterfoil_notices (
  key TEXT PRIMARY KEY,
  told INTEGER NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
