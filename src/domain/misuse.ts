/**
 * A mistake in calling Counterfoil, told by a message that holds nothing of the data: it may go into
 * logs and reasons as it is, where other errors are only described.
 */
export class Misuse extends TypeError {}
