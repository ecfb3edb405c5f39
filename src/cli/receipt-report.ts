import type { Payload } from "../domain/receipt.ts";
import type { ReceiptReport } from "../operator/operator-reads.ts";
import { inertText } from "./inert-text.ts";
import { auditRecord, isoTime, obligationRecord, receiptRecord, type ShownRecord } from "./records.ts";
import {
  auditSection,
  bytesJson,
  bytesText,
  nextJson,
  nextText,
  type Report,
  rowsText,
  sectionsText,
} from "./report.ts";
import { recordText } from "./table.ts";

/** What is known of an event; its bytes only where they are given. */
export function receiptReport(report: ReceiptReport, payload: Payload | null): Report {
  const receipt = receiptRecord(report.receipt);
  const redeliveries = report.redeliveries.map(({ at, digest }): ShownRecord => ({ at: isoTime(at), digest }));
  const obligations = report.obligations.map(obligationRecord);
  const { mismatches, waitsFor, bytes, audit, next } = report;
  const json = {
    receipt,
    mismatches,
    waitsFor,
    bytes,
    next: nextJson(next),
    redeliveries,
    obligations,
    audit: audit.map(auditRecord),
    ...(payload && { payload: { headers: JSON.parse(payload.headers) as unknown, body: bytesJson(payload.bytes) } }),
  };
  const waits = waitsFor && `${waitsFor.kind} ${waitsFor.id}`;
  const text = sectionsText([
    ["", recordText({ ...receipt, mismatches, "waits for": waits, bytes, next: nextText(next) })],
    ["Later deliveries", rowsText(["at", "digest"], redeliveries)],
    ["Obligations", rowsText(["id", "operationKey", "effect", "state", "reached", "dueAt", "reason"], obligations)],
    auditSection(audit),
    ["Signed headers", payload ? inertText(payload.headers) : ""],
    ["Body", payload ? bytesText(payload.bytes) : ""],
  ]);
  return { json, text };
}
