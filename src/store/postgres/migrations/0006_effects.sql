-- Obligations of one effect, newest first, for operators: nothing else finds those of a rare one. Written
-- once for each, at the end of its effect's part.
CREATE INDEX obligations_effect ON counterfoil.obligations (effect, id);
