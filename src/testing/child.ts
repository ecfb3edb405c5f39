/** The child's half of `processes.ts`. */
import type { Json } from "../domain/json.ts";
import { onLine } from "./lines.ts";
import type { ChildLine } from "./processes.ts";

/** What a child can be asked, by name. */
export type ChildHandlers = Readonly<Record<string, (input: Json) => Json | void | Promise<Json | void>>>;

/** Settings of {@link answerParent}. */
export interface AnswerParentOptions {
  /** How long the process may live on once its parent has closed the pipe. Default 5 000 ms. */
  readonly graceMs?: number;
}

/**
 * Answers the parent until it closes the pipe, which a parent that dies does too; the process then has
 * its grace to end by itself.
 *
 * @example
 * ```ts no-run
 * answerParent({ add: (input) => (input as number[]).reduce((sum, each) => sum + each, 0) });
 * ```
 */
export function answerParent(handlers: ChildHandlers, { graceMs = 5_000 }: AnswerParentOptions = {}): void {
  onLine(process.stdin, (line) => void answer(line, handlers));
  process.stdin.once("close", () => void setTimeout(() => process.kill(process.pid, "SIGKILL"), graceMs).unref());
}

/** Says something unasked. The line is in the pipe before this returns, so that a death right after it loses nothing. */
export function tellParent(told: Json): void {
  say({ told });
}

async function answer(line: string, handlers: ChildHandlers): Promise<void> {
  const { id, ask, input } = JSON.parse(line) as { id: number; ask: string; input: Json };
  try {
    const handler = handlers[ask];
    if (!handler) throw new Error(`no handler of that name; there are ${Object.keys(handlers).join(", ")}`);
    say({ id, answer: (await handler(input)) ?? null });
  } catch (error) {
    say({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function say(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
