-- Each obligation is updated once, when it is done, and grows by what is known of its end. With room for that on
-- its page its indexes are not written again. For pages from here on.
ALTER TABLE counterfoil.obligations SET (fillfactor = 50);
