import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";

/** A destination that is not to be called for a while. */
export interface PauseAction {
  /** Origin, such as `https://carrier.example`, or the name that a `sendEffect` gives. */
  readonly destination: string;
  /** Why, for whoever wonders, and for the audit. */
  readonly reason: string;
}

/** Keeps calls and lookups from a destination. A call that runs ends as ever, and hooks go on. */
export async function pause(acting: Acting, { destination, reason }: PauseAction): Promise<Acted> {
  const named = [...acting.runtime.effects.values()].some((effect) => effect.destination === destination);
  if (!named && URL.parse(destination)?.origin !== destination) {
    throw new TypeError(`Cannot pause "${destination}": it is no origin; write such as https://carrier.example`);
  }
  if (reason.trim() === "") throw new TypeError("Cannot pause: the reason is blank; say why nothing is to be sent");
  const { runtime, who } = acting;
  const pausedDestinations = await runtime.store.reader.pausedDestinations();
  const paused = pausedDestinations.find((one) => one.destination === destination);
  if (paused !== undefined) return { changed: false, says: `It is paused already: ${paused.reason}` };
  const target = `destination/${destination}`;
  await transact(runtime, async (tx) => {
    await tx.pauseDestination(destination, reason);
    const after = `paused: ${reason}`;
    await tx.audit({ who, action: "pause", target, why: reason, before: "called", after });
  });
  tell(acting, "pause", target);
  return { changed: true, says: "It is paused: what is owed there waits until it is resumed" };
}
