import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { baseCommand, type SharedOptions, wholeNumber } from "../base-command.ts";
import { exitCodes } from "../exit-codes.ts";
import { inertText } from "../inert-text.ts";
import { loadApp } from "../load-app.ts";
import { printRows } from "../output.ts";

interface SendOptions extends SharedOptions {
  readonly type?: string;
  readonly id?: string;
  readonly event?: string;
  readonly url: string;
  readonly times: number;
  readonly secretEnv?: string;
}

/** What one delivery was answered. */
interface Answered {
  readonly status: number;
  readonly accepted: boolean;
  readonly answer: unknown;
}

/** The longest wait for an answer: more than any provider's. */
const answerMs = 30_000;
const timesMax = 1_000;

export function sendCommand(): Command {
  return baseCommand({
    name: "send",
    summary: "Sign a sample event as the provider would, and post it to a running receiver",
    details: "With --json, one object on each line. Ends with 1 when a delivery was not accepted.",
    examples: [
      "send stripe",
      "send stripe --type charge.refunded --id evt_1 --times 3",
      "send github --type push --event push.json --url http://127.0.0.1:8080",
    ],
  })
    .argument("<connection>", "id of the connection")
    .option("--type <type>", "event type (default: the first with a sample and a handler)")
    .option("--id <id>", "event id (default: a random one)")
    .option("--event <file>", "send the bytes of this file instead of a sample")
    .option("--url <origin>", "where the receiver listens", "http://127.0.0.1:4600")
    .option("--times <count>", "deliver the same event so often", wholeNumber, 1)
    .option("--secret-env <name>", "environment variable to sign with, where the configuration has a public key only")
    .action(send);
}

async function send(connection: string, options: SendOptions): Promise<void> {
  const { times } = options;
  if (times < 1 || times > timesMax) throw new RangeError(`Cannot send ${times} times: give 1 to ${timesMax}`);
  const app = await loadApp(options.config);
  const isListed = app.connections.listed.has(connection);
  if (!isListed) await app.connections.find(connection);
  const delivery = app.trialDelivery(connection, {
    type: options.type,
    id: options.id,
    body: options.event === undefined ? undefined : eventBytes(options.event),
    secret: options.secretEnv === undefined ? undefined : secretOf(options.secretEnv),
  });
  // Finding it has opened the store, whose receipts tell whose it was.
  if (!isListed) await app.stop();
  const url = hookUrl(options.url, `${app.basePath}/${connection}${delivery.suffix ?? ""}`);
  const answers: Answered[] = [];
  while (answers.length < times) answers.push(await post(url, delivery));
  printRows(options, answers, () => [...answers.map(answerText), ...whyText(answers)].join("\n"));
  if (answers.some(({ accepted }) => !accepted)) process.exitCode = exitCodes.refused.code;
}

async function post(
  url: URL,
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array },
): Promise<Answered> {
  try {
    const signal = AbortSignal.timeout(answerMs);
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
      redirect: "manual",
      signal,
    });
    return { status: response.status, accepted: response.ok, answer: parsed(await response.text()) };
  } catch (error) {
    throw new TypeError(
      `Cannot send to ${url.href}: nothing answered there; start counterfoil serve, or name it with --url`,
      { cause: error },
    );
  }
}

function answerText({ status, answer }: Answered): string {
  return `${status} ${inertText(typeof answer === "string" ? answer : JSON.stringify(answer))}`;
}

/** An answer tells a sender no reason: it stands on the event. */
function whyText(answers: readonly Answered[]): string[] {
  const last = answers.at(-1)?.answer as {
    readonly outcome?: string;
    readonly first?: string;
    readonly event?: string;
  };
  const outcome = last?.first ?? last?.outcome;
  if (outcome === undefined || last.event === undefined || outcome === "applied") return [];
  return [`Why it is ${outcome}: counterfoil list receipts --event ${inertText(last.event)}`];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function hookUrl(origin: string, path: string): URL {
  const url = URL.parse(path, origin);
  if (url === null) {
    throw new TypeError(`Cannot send to "${origin}": it is no URL; write such as http://127.0.0.1:4600`);
  }
  return url;
}

function eventBytes(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new TypeError(`Cannot read ${file}: name a file that holds the event's body`, { cause: error });
  }
}

function secretOf(name: string): string {
  const secret = process.env[name];
  if (secret === undefined || secret === "") {
    throw new TypeError(`Cannot sign: environment variable ${name} is not set`);
  }
  return secret;
}
