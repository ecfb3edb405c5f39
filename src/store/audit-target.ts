/**
 * How audit entries name what was acted on, so that its page finds them.
 *
 * @example
 * ```ts
 * auditTarget("receipt", 12); // "receipt/12"
 * ```
 */
export function auditTarget(kind: "receipt" | "obligation", id: number): string {
  return `${kind}/${id}`;
}
