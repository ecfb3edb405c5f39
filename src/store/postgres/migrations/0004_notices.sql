-- Whom the application was told of that needs a person: a mark for each thing that is on the list. Until
-- `until` somebody is telling it; after that, when it is not told, anybody may.
CREATE TABLE counterfoil.notices (
  key text COLLATE "C" PRIMARY KEY,
  told boolean NOT NULL,
  until bigint NOT NULL
);
