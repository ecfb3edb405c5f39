/** What a program of one's own around an application needs to name: nothing of it is out of reach. */
import type {
  Acted,
  AnswerMark,
  App,
  Attention,
  Counts,
  FetchHandler,
  JsonPath,
  Listening,
  NodeHandler,
  ObligationAction,
  ObligationReport,
  Operator,
  ReceiptReport,
  StatusVerdict,
} from "counterfoil";

export interface Desk {
  readonly operator: Operator;
  readonly listening: Listening;
  readonly node: NodeHandler;
  readonly fetch: FetchHandler;
}

export async function openDesk(app: App): Promise<Desk> {
  return {
    operator: app.operator({ who: "ada" }),
    listening: await app.listen({ port: 0, serves: "health" }),
    node: app.node,
    fetch: app.fetch,
  };
}

export async function look({ operator }: Desk): Promise<{
  readonly counts: Counts;
  readonly first: Attention | undefined;
  readonly report: ObligationReport;
  readonly event: ReceiptReport;
}> {
  return {
    counts: await operator.status(),
    first: (await operator.attention())[0],
    report: await operator.obligation("acme", "order-1/fulfil/v1"),
    event: await operator.receipt(1),
  };
}

export function retry({ operator }: Desk, action: ObligationAction): Promise<Acted> {
  return operator.retry(action);
}

const path: JsonPath = ["error", "code"];
export const reused: AnswerMark = { status: 409, path, equals: "key_reused" };
export const conflict: StatusVerdict = "key_reused";
