import type { App } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";

/** What a sender sees of a delivery. */
export interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Delivers through the application's own Fetch mount, with the length that every server in front tells. */
export async function deliver(app: App, delivery: SignedDelivery, connection = "stripe"): Promise<Answered> {
  const body = new Uint8Array(delivery.body);
  const headers = { ...delivery.headers, "content-length": String(body.length) };
  const response = await app.fetch(
    new Request(`http://localhost/hooks/${connection}`, { method: "POST", headers, body }),
  );
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: (await response.json()) as Answered["body"],
  };
}
