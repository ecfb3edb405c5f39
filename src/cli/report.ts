/** Parts of a report: one thing with all that is known of it, as JSON and as text. */
import type { NextStep } from "../operator/next-step.ts";
import type { RecordedAudit } from "../store/reader.ts";
import { inertLines } from "./inert-text.ts";
import { auditRecord, isoTime, type ShownRecord } from "./records.ts";
import { tableText } from "./table.ts";

export interface Report {
  readonly json: object;
  readonly text: string;
}

/** A part of the text: its heading (none for the first) and its lines. */
export type Section = readonly [heading: string, text: string];

/** Joins sections; what has no text is left out. */
export function sectionsText(sections: readonly Section[]): string {
  return sections
    .filter(([, text]) => text !== "")
    .map(([heading, text]) => (heading === "" ? text : `${heading}\n${text.replaceAll(/^/gm, "  ")}`))
    .join("\n\n");
}

/** Some columns of records as a table; nothing when there is no record. */
export function rowsText(columns: readonly string[], records: readonly ShownRecord[]): string {
  if (records.length === 0) return "";
  return tableText(
    columns,
    records.map((record) => columns.map((column) => record[column] ?? null)),
  );
}

export function auditSection(audit: readonly RecordedAudit[]): Section {
  return ["Operators' actions", rowsText(["at", "who", "action", "why", "before", "after"], audit.map(auditRecord))];
}

export function nextJson({ text, at, needsOperator }: NextStep): object {
  return { text, at: isoTime(at), needsOperator };
}

export function nextText({ text, at, needsOperator }: NextStep): string {
  return `${needsOperator ? "you: " : ""}${text}${at === null ? "" : `, at ${isoTime(at)}`}`;
}

/** Stored bytes for JSON: as text where they are UTF-8, else as base64. */
export function bytesJson(bytes: Uint8Array | null): object | null {
  if (bytes === null) return null;
  const text = utf8(bytes);
  return text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text };
}

/** Stored bytes for a terminal: inert text where they are UTF-8, else base64. */
export function bytesText(bytes: Uint8Array | null): string {
  if (bytes === null) return "(none)";
  const text = utf8(bytes);
  return text === undefined ? `base64 ${Buffer.from(bytes).toString("base64")}` : inertLines(text);
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
