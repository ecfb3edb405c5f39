import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";

/** A paused destination, and why it may be called again. */
export interface ResumeAction {
  /** Origin, such as `https://carrier.example`. */
  readonly destination: string;
  readonly why?: string | undefined;
}

/** Lets a destination be called again, after its credentials were put right. */
export async function resume(acting: Acting, { destination, why }: ResumeAction): Promise<Acted> {
  const { runtime, who } = acting;
  const pausedDestinations = await runtime.store.reader.pausedDestinations();
  const paused = pausedDestinations.find((one) => one.destination === destination);
  if (paused === undefined) return { changed: false, says: "It is not paused" };
  await transact(runtime, async (tx, signals) => {
    await tx.pauseDestination(destination, null);
    await tx.audit({
      who,
      action: "resume",
      target: `destination/${destination}`,
      why: why ?? null,
      before: `paused: ${paused.reason}`,
      after: "called again",
    });
    signals.owed = true;
  });
  tell(acting, "resume", `destination/${destination}`);
  return { changed: true, says: "It is called again: what is due there goes out now" };
}
