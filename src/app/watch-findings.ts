import { type Finding, ok, warning } from "../domain/finding.ts";
import type { Acting } from "../operator/acting.ts";
import { countByCause, lastEventAt, refusedLately, watched } from "../operator/attention.ts";
import { causesText, describeAttention } from "../operator/describe-attention.ts";

/** Whether events come, whether what comes can be verified, and whether a secret ends. */
export async function watchFindings(watching: Pick<Acting, "runtime" | "connections">): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { id, silentAfterMs } of watching.connections.listed.values()) {
    if (silentAfterMs === null || (await lastEventAt(watching, id)) !== undefined) continue;
    const mend = "see at the provider whether the endpoint is enabled, and have it send a test event";
    findings.push(warning("silence", `connection ${id} has never had an event`, mend));
  }
  for (const item of await watched(watching)) {
    if (item.kind === "refusals") continue;
    const { name, reason } = describeAttention({ ...item, cursor: "" });
    const [says = "", mend = ""] = (reason ?? "").split("; ");
    findings.push(warning(item.kind === "secret" ? "secrets" : "silence", `${name}: ${says}`, mend));
  }
  for (const [connection, facts] of await refusedLately(watching)) {
    const says = `connection ${connection} in the last hour: ${causesText(countByCause(facts))}`;
    findings.push(warning("refusals", says, "compare its secret with the provider's; counterfoil list refusals"));
  }
  return findings.length > 0
    ? findings
    : [ok("watched", "no connection is silent, refuses, or has a secret that ends")];
}
