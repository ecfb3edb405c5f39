/** Says that a thing exists now; events parked on it are applied right after the commit. */
export type Arrived = (kind: string, id: string) => Promise<void>;
