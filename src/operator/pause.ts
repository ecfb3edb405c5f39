import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { type Pausable, valveOf } from "./pausable.ts";

/** What is to stand still for a while. */
export type PauseAction = Pausable & {
  /** Why, for whoever wonders, and for the audit. */
  readonly reason: string;
};

/**
 * Keeps calls and lookups from a destination, or handlers from the events of a connection. What runs
 * already ends as ever, and hooks go on.
 */
export async function pause(acting: Acting, action: PauseAction): Promise<Acted> {
  const { reason } = action;
  const { target, texts, problem, ...valve } = valveOf(acting, action);
  if (problem !== undefined) throw new TypeError(problem);
  if (reason.trim() === "") throw new TypeError(`Cannot pause: the reason is blank; ${texts.blank}`);
  const paused = await valve.reason();
  if (paused !== undefined) return { changed: false, says: `It is paused already: ${paused}` };
  const { runtime, who } = acting;
  await transact(runtime, async (tx) => {
    await valve.write(tx, reason);
    const before = texts.open.replace(" again", "");
    await tx.audit({ who, action: "pause", target, why: reason, before, after: `paused: ${reason}` });
  });
  tell(acting, "pause", target);
  return { changed: true, says: texts.paused };
}
