-- Obligations of one effect, newest first, for operators: nothing else finds those of a rare one. Written
-- once for each, at the end of its effect's part; and the narrowest index to count all of them in.
CREATE INDEX counterfoil_obligations_effect ON counterfoil_obligations (effect);
