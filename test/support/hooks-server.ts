import type { App } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { type RawAnswer, rawExchange } from "../../src/testing/raw-http.ts";
import { type TemporaryDatabase, temporaryDatabase } from "./engine.ts";
import { openApp, orderApp, type OrderAppOptions, placeOrders } from "./order-app.ts";

/** A receiver on a port of its own, over an empty database with order-1 in it. */
export interface HooksServer extends AsyncDisposable {
  readonly app: App;
  readonly database: TemporaryDatabase;
  readonly port: number;
  readonly post: (delivery: SignedDelivery, more?: PostOptions) => Promise<RawAnswer>;
  /** Receipts in the store. */
  readonly receipts: () => Promise<number>;
}

export interface PostOptions {
  readonly path?: string;
  readonly method?: string;
  /** Added after the delivery's own headers; a value of `undefined` removes one. */
  readonly headers?: readonly (readonly [string, string | undefined])[];
}

export async function startHooks(options: OrderAppOptions = {}): Promise<HooksServer> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(database.address, options)));
  await placeOrders(app, "order-1");
  const { port } = await app.listen({ port: 0 });
  const owned = stack.move();
  return {
    app,
    database,
    port,
    post: (delivery, more = {}) => rawExchange(port, rawRequest(delivery, more)),
    receipts: async () => {
      const { receipts } = await app.operator({ who: "test" }).status();
      return Object.values(receipts).reduce((sum, count) => sum + count, 0);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export function rawRequest(
  delivery: SignedDelivery,
  { path = "/hooks/stripe", method = "POST", headers = [] }: PostOptions,
) {
  const removed = new Set(headers.filter(([, value]) => value === undefined).map(([name]) => name.toLowerCase()));
  const own = Object.entries(delivery.headers).filter(([name]) => !removed.has(name.toLowerCase()));
  const added = headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return { method, path, headers: [...own, ...added], body: delivery.body };
}
