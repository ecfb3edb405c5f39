import { type App, connect, connectEach, defineApp } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import { bundled, caseSecret, fields, posted, sender, zipped, zippedInside } from "../support/case-delivery.ts";

/** An application with every kind of body that can be declared, over a database at this path. */
export function fuzzApp(path: string): App {
  const common = { secrets: [caseSecret], tenant: "acme", bodyBytesMax: 64 * 1024, handlers: [] } as const;
  const find = ({ shop = "" }: { readonly shop?: string }) => {
    if (shop === "broken") throw new Error("it cannot be told");
    return shop === "acme" ? { ...common, provider: sender } : null;
  };
  return defineApp({
    store: sqlite(path),
    connections: [
      ...[sender, zipped, posted, fields, bundled].map((provider) => connect(provider.name, { ...common, provider })),
      connect("inside", { ...common, provider: zippedInside }),
      connectEach("shops/:shop", find),
    ],
    effects: [],
  });
}
