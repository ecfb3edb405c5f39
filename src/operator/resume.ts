import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { type Pausable, valveOf } from "./pausable.ts";

/** What is paused, and why it may go on. */
export type ResumeAction = Pausable & {
  readonly why?: string | undefined;
};

/** Lets a destination be called again, or events of a connection be applied again. */
export async function resume(acting: Acting, action: ResumeAction): Promise<Acted> {
  const { target, texts, ...valve } = valveOf(acting, action);
  const paused = await valve.reason();
  if (paused === undefined) return { changed: false, says: "It is not paused" };
  const { runtime, who } = acting;
  await transact(runtime, async (tx, signals) => {
    await valve.write(tx, null);
    const why = action.why ?? null;
    await tx.audit({ who, action: "resume", target, why, before: `paused: ${paused}`, after: texts.open });
    signals.owed = true;
    signals.arrived = true;
  });
  tell(acting, "resume", target);
  return { changed: true, says: texts.resumed };
}
