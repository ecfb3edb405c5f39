import { closedStates, type StoredAnswer } from "../domain/obligation.ts";
import type { ObligationReport } from "../operator/operator-reads.ts";
import { inertText } from "./inert-text.ts";
import { attemptRecord, auditRecord, obligationRecord } from "./records.ts";
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

const attemptColumns = ["fence", "kind", "generation", "startedAt", "endedAt", "verdict", "phase", "status", "cause"];

/** What is known of an obligation; URL, bodies and input, which hold payload, only where they are asked for. */
export function obligationReport(report: ObligationReport, withPayload: boolean): Report {
  const { request, requestDigest, answer, refusal, lease, waitsBehind, key, next, audit } = report;
  const input = report.input === null ? null : (JSON.parse(report.input) as unknown);
  const obligation = obligationRecord(report.obligation);
  const attempts = report.attempts.map(attemptRecord);
  const { destination } = report.obligation;
  const bytes = request?.body?.length ?? 0;
  const json = {
    obligation,
    key,
    lease,
    waitsBehind,
    next: nextJson(next),
    // Retention may have removed it.
    request: request && {
      method: request.method,
      destination,
      bytes,
      digest: requestDigest,
      ...(withPayload && {
        url: request.url,
        body: bytesJson(request.body),
      }),
    },
    ...(withPayload && { input }),
    answer: answerJson(answer, withPayload),
    refusal: answerJson(refusal, withPayload),
    attempts,
    audit: audit.map(auditRecord),
  };
  const text = sectionsText([
    [
      "",
      recordText({
        ...obligation,
        request: request ? `${request.method} ${destination}, ${bytes} bytes` : "removed by retention",
        digest: requestDigest,
        key: keyText(report),
        lease: lease && `${lease.worker}${lease.live ? "" : " (ended)"}`,
        next: nextText(next),
      }),
    ],
    ["Attempts", rowsText(attemptColumns, attempts)],
    auditSection(audit),
    [
      "Request",
      withPayload && request ? `${inertText(`${request.method} ${request.url}`)}\n${bytesText(request.body)}` : "",
    ],
    ["Answer", withPayload ? answerText(answer) : ""],
    ["Refused with", withPayload ? answerText(refusal) : ""],
  ]);
  return { json, text };
}

function answerJson(answer: StoredAnswer | null, withPayload: boolean): object | null {
  if (answer === null) return null;
  const { status, body, truncated } = answer;
  return { status, bytes: body.length, truncated, ...(withPayload && { body: bytesJson(body) }) };
}

function answerText(answer: StoredAnswer | null): string {
  return answer === null ? "" : `${answer.status}\n${bytesText(answer.body)}`;
}

function keyText({ key, obligation }: ObligationReport): string | null {
  if ((closedStates as readonly string[]).includes(obligation.state)) return null;
  switch (key.kind) {
    case "good":
      return obligation.keySince === null ? "not used yet" : `good for ${Math.round(key.remainingMs / 1_000)} s`;
    case "expired":
      return "no longer good";
    case "none":
      return "the provider keeps none";
    case "unknown":
      return "not known: its effect is not registered here";
    default:
      throw new Error(`Bug: no such key ${String(key satisfies never)}`);
  }
}
