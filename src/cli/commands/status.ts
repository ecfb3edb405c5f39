import type { Command } from "commander";
import type { Counts } from "../../store/reader.ts";
import { baseCommand, type SharedOptions, withOperator } from "../base-command.ts";
import { printResult } from "../output.ts";
import { isoTime } from "../records.ts";
import { recordText } from "../table.ts";

/** Things that need an operator are counted up to here. */
const attentionMax = 500;

export function statusCommand(): Command {
  return baseCommand({
    name: "status",
    summary: "Count events by outcome and obligations by state, and what needs you",
    examples: ["status", "status --json"],
  }).action(async (options: SharedOptions) => {
    await withOperator(options, async (operator) => {
      const counts = await operator.status();
      const needsYou = (await operator.attention({ limit: attentionMax })).length;
      printResult(options, statusRecord(counts, needsYou), () => statusText(counts, needsYou));
    });
  });
}

function statusRecord(counts: Counts, needsYou: number): object {
  const { receipts, obligations, deliveries, mismatches, refusals, pausedDestinations } = counts;
  return {
    now: isoTime(counts.now),
    receipts,
    obligations,
    deliveries,
    mismatches,
    refusals,
    oldestOwedAt: isoTime(counts.oldestOwedAt),
    oldestOwedMs: oldestOwedMs(counts),
    pausedDestinations,
    needsYou,
    needsYouIsCut: needsYou === attentionMax,
  };
}

function statusText(counts: Counts, needsYou: number): string {
  const { oldestOwedAt, pausedDestinations } = counts;
  const age = oldestOwedMs(counts);
  return recordText({
    now: isoTime(counts.now),
    events: counted(counts.receipts),
    obligations: counted(counts.obligations),
    deliveries: counts.deliveries,
    mismatches: counts.mismatches,
    refused: counted(counts.refusals),
    "oldest owed": age === null ? null : `${Math.round(age / 1_000)} s, since ${isoTime(oldestOwedAt)}`,
    paused: pausedDestinations.map(({ destination, reason }) => `${destination} (${reason})`).join(", "),
    "needs you": needsYouText(needsYou),
  });
}

function needsYouText(needsYou: number): string {
  if (needsYou === 0) return "nothing";
  return `${needsYou}${needsYou === attentionMax ? " or more" : ""}; counterfoil list attention`;
}

function oldestOwedMs({ oldestOwedAt, now }: Counts): number | null {
  return oldestOwedAt === null ? null : Math.max(0, now - oldestOwedAt);
}

function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
