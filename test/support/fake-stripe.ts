/** Stripe's refunds over HTTP, as far as its SDK sees them: form bodies, keys that replay the first answer, lists. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface FakeRefund {
  readonly id: string;
  readonly object: "refund";
  readonly payment_intent: string | null;
  readonly amount: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What happens to the next requests to create one. */
export type StripeFault = "lost answer" | "lost request" | { readonly status: number; readonly code?: string };

export interface FakeStripe extends AsyncDisposable {
  readonly port: number;
  readonly refunds: readonly FakeRefund[];
  /** Keys of all requests to create one, in order. */
  readonly keys: readonly string[];
  fail(...faults: readonly StripeFault[]): void;
}

export async function startFakeStripe(): Promise<FakeStripe> {
  const refunds: FakeRefund[] = [];
  const keys: string[] = [];
  const kept = new Map<string, FakeRefund>();
  const faults: StripeFault[] = [];
  const create = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    const key = String(request.headers["idempotency-key"]);
    keys.push(key);
    const fault = faults.shift();
    if (fault === "lost request") return void request.socket.destroy();
    if (typeof fault === "object") {
      const { status, code } = fault;
      return answer(response, status, { error: { type: "invalid_request_error", code, message: "no" } });
    }
    const refund = kept.get(key) ?? refundOf(form, refunds.length + 1);
    if (!kept.has(key)) refunds.push(refund);
    kept.set(key, refund);
    if (fault === "lost answer") return void request.socket.destroy();
    answer(response, 200, refund);
  };
  const server = createServer((request, response) => {
    if (request.method === "POST") return void create(request, response);
    const wanted = new URL(request.url ?? "", "http://stripe").searchParams.get("payment_intent");
    const data = refunds.filter(({ payment_intent: paid }) => paid === wanted);
    answer(response, 200, { object: "list", url: "/v1/refunds", has_more: false, data });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    refunds,
    keys,
    fail: (...more) => void faults.push(...more),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

function refundOf(form: URLSearchParams, number: number): FakeRefund {
  return {
    id: `re_${number}`,
    object: "refund",
    payment_intent: form.get("payment_intent"),
    amount: Number(form.get("amount")),
    metadata: { operation: form.get("metadata[operation]") ?? "" },
  };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
