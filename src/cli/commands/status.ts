import type { Command } from "commander";
import type { Instant } from "../../domain/instant.ts";
import type { Receipt } from "../../domain/receipt.ts";
import type { Status } from "../../operator/operator-reads.ts";
import type { LogSize, SeenWorker, SnapshotHolder } from "../../store/reader.ts";
import { baseCommand, type SharedOptions, withOperator } from "../base-command.ts";
import { printResult } from "../output.ts";
import { isoTime } from "../records.ts";
import { recordText } from "../table.ts";

/** Things that need an operator are counted up to here. */
const attentionMax = 500;

export function statusCommand(): Command {
  return baseCommand({
    name: "status",
    summary: "Count events by outcome and obligations by state, what is due and who takes it, and what needs you",
    examples: ["status", "status --json"],
  }).action(async (options: SharedOptions) => {
    await withOperator(options, async (operator) => {
      const status = await operator.status();
      const needsYou = (await operator.attention({ limit: attentionMax })).length;
      const [held] = status.receipts.held ? await operator.receipts({ outcome: "held" }, { limit: 1 }) : [];
      const look = { status, needsYou, held };
      printResult(options, statusRecord(look), () => statusText(look));
    });
  });
}

/** What one look found; `held` is the last event whose handler failed. */
interface Look {
  readonly status: Status;
  readonly needsYou: number;
  readonly held: Receipt | undefined;
}

function statusRecord({ status, needsYou, held }: Look): object {
  const { now, receipts, obligations, deliveries, mismatches, refusals, pausedDestinations, pausedConnections } =
    status;
  return {
    now: isoTime(now),
    receipts,
    lastHeld: held && { id: held.id, connection: held.connection, eventId: held.eventId, reason: held.reason },
    obligations,
    deliveries,
    mismatches,
    refusals,
    refreshes: {
      owed: status.refreshes.owed,
      failed: status.refreshes.failed,
      due: status.refreshes.due.map(({ kind, at }) => ({ kind, at: isoTime(at), ms: ageMs(at, now) })),
    },
    unregistered: status.unregistered,
    oldestOwedAt: isoTime(status.oldestOwedAt),
    oldestOwedMs: ageMs(status.oldestOwedAt, now),
    due: status.due.map(({ effect, at }) => ({ effect, at: isoTime(at), ms: ageMs(at, now) })),
    workers: status.workers.map(({ name, effects, startedAt, seenAt, stoppedAt }) => ({
      name,
      effects,
      startedAt: isoTime(startedAt),
      seenAt: isoTime(seenAt),
      stoppedAt: isoTime(stoppedAt),
    })),
    running: status.running,
    untaken: status.untaken,
    pausedDestinations,
    pausedConnections,
    deadRows: status.deadRows?.count,
    heldSnapshots: status.deadRows && status.heldSnapshots.map((held) => ({ ...held, since: isoTime(held.since) })),
    log: status.log,
    needsYou,
    needsYouIsCut: needsYou === attentionMax,
  };
}

function statusText({ status, needsYou, held }: Look): string {
  const { now } = status;
  const oldestDue = status.due.length === 0 ? null : Math.min(...status.due.map(({ at }) => at));
  return recordText({
    now: isoTime(now),
    events: counted(status.receipts),
    ...(held && { "last held": `${held.eventId}: ${held.reason}; counterfoil show ${held.id}` }),
    obligations: counted(status.obligations),
    refreshes: refreshesText(status),
    deliveries: status.deliveries,
    mismatches: status.mismatches,
    refused: counted(status.refusals),
    "oldest owed": ageText(status.oldestOwedAt, now),
    "oldest due": ageText(oldestDue, now),
    workers: workersText(status),
    paused: pausedText(status),
    ...(status.deadRows && { "dead rows": deadRowsText(status.deadRows.count, status) }),
    ...(status.log && { log: logText(status.log) }),
    "needs you": needsYouText(needsYou),
  });
}

function refreshesText({ refreshes: { owed, failed }, unregistered }: Status): string {
  const counts = counted({ ...(owed > 0 && { owed }), ...(failed > 0 && { failed }) });
  if (unregistered.length === 0) return counts;
  return `${counts}, and this configuration registers no ${unregistered.join(", ")}; add it to resources in defineApp`;
}

function pausedText({ pausedDestinations, pausedConnections }: Status): string {
  const destinations = pausedDestinations.map(({ destination, reason }) => `${destination} (${reason})`);
  const connections = pausedConnections.map(({ connection, reason }) => `connection ${connection} (${reason})`);
  return [...destinations, ...connections].join(", ");
}

function deadRowsText(count: number, { heldSnapshots, now }: Status): string {
  if (heldSnapshots.length === 0) return String(count);
  return `${count}, and none can go that died since: ${heldSnapshots.map((held) => holderText(held, now)).join("; ")}`;
}

function holderText({ kind, name, since, transactions }: SnapshotHolder, now: Instant): string {
  const age = ageText(since, now);
  return `${kind} ${name} (${age === null ? "" : `${age}, `}${transactions} transactions)`;
}

function logText({ bytes, uncopiedBytes }: LogSize): string {
  return `${mebibytes(bytes)} MiB, ${mebibytes(uncopiedBytes)} not copied yet`;
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1);
}

function workersText({ running, workers, due, refreshes, untaken }: Status): string {
  if (running === 0) {
    const seen = `none running, ${lastSeenText(workers[0])}`;
    return due.length === 0 && refreshes.due.length === 0
      ? seen
      : `${seen}, and work is due; start: counterfoil serve --role worker`;
  }
  const taking = `${running} running`;
  if (untaken.length === 0) return taking;
  return `${taking}, and none takes ${untaken.join(", ")}; start one whose configuration has it`;
}

function lastSeenText(worker: SeenWorker | undefined): string {
  if (worker === undefined) return "the last seen never";
  const { seenAt, stoppedAt } = worker;
  return stoppedAt === null ? `the last seen at ${isoTime(seenAt)}` : `the last stopped at ${isoTime(stoppedAt)}`;
}

function needsYouText(needsYou: number): string {
  if (needsYou === 0) return "nothing";
  return `${needsYou}${needsYou === attentionMax ? " or more" : ""}; counterfoil list attention`;
}

function ageMs(since: Instant | null, now: Instant): number | null {
  return since === null ? null : Math.max(0, now - since);
}

function ageText(since: Instant | null, now: Instant): string | null {
  const age = ageMs(since, now);
  return age === null ? null : `${Math.round(age / 1_000)} s, since ${isoTime(since)}`;
}

function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
