/**
 * A look at a whole installation, for whoever sets it up or wonders: what is wrong, and what mends it.
 * A configuration that contradicts itself does not come this far: `defineApp` has refused it.
 */

import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { failure, type Finding, ok, warning } from "../domain/finding.ts";
import { relations } from "../domain/limits.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Connections } from "../inbox/connections.ts";
import { statusOf, type Status } from "../operator/operator-reads.ts";
import type { Runtime } from "../work/runtime.ts";
import { answerMsOf } from "./connect.ts";
import { watchFindings } from "./watch-findings.ts";

/** What is looked at. */
export interface Patient {
  readonly runtime: Runtime;
  readonly connections: Connections;
  readonly problems: readonly string[];
  readonly subscribers: ReadonlySet<Emit>;
  readonly basePath: string;
  open(): Promise<void>;
  ready(): Promise<boolean>;
}

/** Further apart than this, timestamps of senders are refused that are right. */
const clockSkewMs = 5_000;

/** Looks at everything that can be looked at; never rejects for what it finds. */
export async function examine(app: Patient): Promise<readonly Finding[]> {
  const configured = [...configuration(app), ...secrets(app), ...ackBudget(app), leases(app)];
  const missing = app.runtime.store.missing?.();
  if (missing !== undefined) {
    const mend = "mend the path in the configuration, or create it: counterfoil serve, or counterfoil migrate";
    return [...configured, warning("database", missing, mend)];
  }
  try {
    await app.open();
  } catch (error) {
    return [...configured, unopened(error)];
  }
  const { store, clock } = app.runtime;
  const before = clock.wallMs();
  const status = await statusOf(app.runtime);
  return [
    ...configured,
    ...(await store.inspect()),
    await commits(app),
    clocks(status.now, (before + clock.wallMs()) / 2),
    ...work(status),
    ...(await watchFindings(app)),
  ];
}

function configuration({ connections, runtime, subscribers, basePath }: Patient): Finding[] {
  const { effects } = runtime;
  const counts = `${connections.listed.size + connections.sources.length} connections under ${basePath}, ${effects.size} effects`;
  const findings = [ok("configuration", counts)];
  if (connections.listed.size + connections.sources.length === 0) {
    findings.push(warning("configuration", "there is no connection, so nothing is received", "add one: connect(...)"));
  }
  for (const [id, { handlers }] of connections.listed) {
    if (handlers.size > 0) continue;
    const says = `connection "${id}" has no handler: its events are kept and ignored as unmapped`;
    findings.push(warning("configuration", says, "give it handlers, such as stripe.on(...)"));
  }
  for (const [name, { idempotency, lookup }] of effects) {
    if (idempotency !== "none" || lookup !== undefined) continue;
    const says = `effect "${name}" has neither an idempotency key nor a lookup: each lost answer is for you to decide`;
    findings.push(warning("configuration", says, "declare a lookup, or the key that the provider takes"));
  }
  if (subscribers.size === 0) {
    const says = "nobody hears of trouble: there is no telemetry (counterfoil serve logs by itself)";
    findings.push(warning("configuration", says, "telemetry: jsonLogger() in defineApp"));
  }
  return findings;
}

function secrets({ problems, connections }: Patient): Finding[] {
  if (problems.length === 0) {
    const counts = [...connections.listed.values()].map(({ id, keyring }) => `${id} ${keyring.secretIds.length}`);
    return [ok("secrets", counts.length === 0 ? "none is needed" : `usable: ${counts.join(", ")}`)];
  }
  return problems.map((problem) =>
    failure("secrets", problem, "set the variable that the connection reads, in the environment of this process"),
  );
}

/** That it fits was asserted when the connection was made ready; here is what is left for the commit. */
function ackBudget({ connections, runtime }: Patient): Finding[] {
  const answerMs = answerMsOf(runtime);
  return [...connections.listed.values()].map(({ id, provider }) => {
    const { ackMs } = provider.rules;
    const says = `${id}: an answer takes ${answerMs} ms at most before its commit, the sender waits ${ackMs} ms`;
    if (ackMs - answerMs >= 500) return ok("ack budget", says);
    return warning("ack budget", says, "lower the limit queueMs or lockMs, so that a commit has half a second");
  });
}

function leases({ runtime: { limits } }: Patient): Finding {
  const { leaseMs, callMs, leaseMarginMs, heartbeatMs } = limits;
  const lease = `a lease of ${leaseMs} ms, renewed each ${heartbeatMs} ms, for calls of ${callMs} ms and ${leaseMarginMs} ms of margin`;
  return ok("limits", `${relations.length} relations hold; ${lease}`);
}

function unopened(error: unknown): Finding {
  if (!(error instanceof CounterfoilError)) return failure("database", errorSummary(error), "see docs/errors.md");
  const mends: Partial<Record<string, string>> = {
    SCHEMA_OUTDATED: "counterfoil migrate",
    SCHEMA_NEWER: "install the version of counterfoil that migrated it",
    STORE_CORRUPT: "put a backup back, then: counterfoil restored --since <its time>",
    STORE_BUSY: "find who keeps it locked, or try again",
  };
  return failure("database", error.message, mends[error.code] ?? `see docs/errors.md: ${error.code}`);
}

async function commits(app: Patient): Promise<Finding> {
  try {
    await app.ready();
    return ok("commit", "a transaction has just been committed");
  } catch (error) {
    return { ...unopened(error), subject: "commit" };
  }
}

function clocks(storeMs: number, machineMs: number): Finding {
  const skewMs = Math.round(Math.abs(storeMs - machineMs));
  if (skewMs <= clockSkewMs) return ok("clock", `the clocks of database and machine are ${skewMs} ms apart`);
  return warning(
    "clock",
    `the clocks of database and machine are ${Math.round(skewMs / 1_000)} s apart: right signatures may be refused as old or future`,
    "synchronise both by NTP, such as with chrony",
  );
}

function work(status: Status): Finding[] {
  const { running, untaken, unregistered, heldSnapshots, pausedDestinations, pausedConnections, now, workers } = status;
  const due = [...status.due, ...status.refreshes.due];
  const findings: Finding[] = [];
  if (untaken.length > 0 && running > 0) {
    const says = `work is due and no running worker takes ${untaken.join(", ")}`;
    findings.push(warning("workers", says, "start one whose configuration has it: counterfoil serve --role worker"));
  } else if (due.length > 0 && running === 0) {
    const oldestMs = now - Math.min(...due.map(({ at }) => at));
    const says = `work is due for ${Math.round(oldestMs / 1_000)} s and no worker runs`;
    findings.push(warning("workers", says, "counterfoil serve --role worker"));
  } else {
    findings.push(
      ok("workers", running > 0 ? `${running} running` : `none running, nothing due, ${workers.length} known`),
    );
  }
  for (const kind of unregistered) {
    const says = `a refresh of ${kind} is due, and this configuration registers no resource of that kind`;
    findings.push(warning("refreshes", says, "add it to resources in defineApp, with its fetch"));
  }
  for (const { destination, reason } of pausedDestinations) {
    const says = `${destination} is paused: ${reason}`;
    findings.push(warning("destinations", says, `counterfoil resume ${destination}, once its cause is gone`));
  }
  for (const { connection, reason } of pausedConnections) {
    const says = `connection ${connection} is paused, and its events wait: ${reason}`;
    findings.push(
      warning("connections", says, `counterfoil resume --connection ${connection}, once its cause is gone`),
    );
  }
  for (const { kind, name } of heldSnapshots) {
    const says = `${kind} ${name} keeps dead rows from being removed`;
    findings.push(warning("dead rows", says, "end it; see docs/postgresql.md"));
  }
  return findings;
}
