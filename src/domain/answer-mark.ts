import { readPath, type JsonPath } from "./json.ts";

/** A provider's answer, bounded. Names of headers are lower-case; a header sent twice has two values. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Uint8Array;
  /** The body was longer than was read, or ended early. */
  readonly truncated: boolean;
}

/**
 * Tells one kind of answer from all others, as data. Everything that is given must hold.
 *
 * @example
 * ```ts
 * const stripeKeyReused: AnswerMark = { status: 400, path: ["error", "type"], equals: "idempotency_error" };
 * const stripeReplayed: AnswerMark = { header: "Idempotent-Replayed", equals: "true" };
 * ```
 */
export interface AnswerMark {
  readonly status?: number;
  /** A header that carries `equals`, or is only there when `equals` is not given. */
  readonly header?: string;
  /** Where a JSON body carries `equals`. Not together with `header`. */
  readonly path?: JsonPath;
  readonly equals?: string | number | boolean;
}

/**
 * Whether an answer bears a mark. A body that is no JSON, or was cut, bears none in its body.
 *
 * @example
 * ```ts
 * const answer = { status: 422, headers: {}, body: new Uint8Array(), truncated: false };
 * bearsMark(answer, { status: 422 }); // true
 * ```
 */
export function bearsMark(answer: HttpAnswer, mark: AnswerMark): boolean {
  if (mark.status !== undefined && mark.status !== answer.status) return false;
  if (mark.header !== undefined) {
    const values = answer.headers[mark.header.toLowerCase()] ?? [];
    return mark.equals === undefined ? values.length > 0 : values.includes(String(mark.equals));
  }
  return mark.path === undefined || readPath(jsonOf(answer.body), mark.path) === mark.equals;
}

/**
 * Says why a mark cannot tell answers apart; `undefined` when it can.
 *
 * @example
 * ```ts
 * markProblem({}); // "names neither a status, a header nor a path"
 * ```
 */
export function markProblem({ status, header, path, equals }: AnswerMark): string | undefined {
  const place = header ?? path;
  if (status === undefined && place === undefined) return "names neither a status, a header nor a path";
  if (header !== undefined && path !== undefined) return "names both a header and a path: keep one";
  if (equals !== undefined && place === undefined) return "has equals, but neither a header nor a path";
  if (path !== undefined && equals === undefined) return "has a path, but no equals";
  return place?.length === 0 ? "has an empty header or path" : undefined;
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    // Not JSON: a proxy's error page, an empty or a cut body. None of them carries a member.
    return undefined;
  }
}
