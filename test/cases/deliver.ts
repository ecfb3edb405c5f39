import type { App } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";

/** What a sender sees of a delivery. */
export interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Delivers through the application's own Fetch mount. */
export async function deliver(app: App, { headers, body }: SignedDelivery, connection = "stripe"): Promise<Answered> {
  const url = `http://localhost/hooks/${connection}`;
  const response = await app.fetch(new Request(url, { method: "POST", headers, body: new Uint8Array(body) }));
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: (await response.json()) as Answered["body"],
  };
}
