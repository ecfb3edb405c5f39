/** `npm start`: the shop on embedded SQLite or on PostgreSQL, with two carriers to call, until Ctrl-C. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFakeProvider } from "counterfoil/testing";
import { chooseStore } from "./choose-store.ts";
import { dataFolder } from "./data-folder.ts";

const usage = `npm start -- [--store sqlite] [--port 4600] [--carrier-port 4601] [--courier-port 4602] [--data .counterfoil/shop]
The store is sqlite, postgres (a server for this try, gone with it), or the URL of a PostgreSQL database.
Environment: SHOP_STORE, SHOP_PORT, SHOP_CARRIER_PORT, SHOP_COURIER_PORT, SHOP_DATA; SHOP_LOG=1 logs JSON lines.`;

const { env } = process;
const { values } = readArguments();

function readArguments() {
  try {
    return parse();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}

function parse() {
  return parseArgs({
    options: {
      store: { type: "string", default: env["SHOP_STORE"] ?? "sqlite" },
      port: { type: "string", default: env["SHOP_PORT"] ?? "4600" },
      "carrier-port": { type: "string", default: env["SHOP_CARRIER_PORT"] ?? "4601" },
      "courier-port": { type: "string", default: env["SHOP_COURIER_PORT"] ?? "4602" },
      data: { type: "string", default: env["SHOP_DATA"] ?? join(".counterfoil", "shop") },
      help: { type: "boolean", short: "h", default: false },
    },
  });
}
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const ending = new Promise<void>((resolve) => {
  process.once("SIGINT", resolve).once("SIGTERM", resolve);
});

await using stack = new AsyncDisposableStack();
const { folder } = dataFolder(values.data);
const carrier = stack.use(
  await onPort("carrier-port", values["carrier-port"], (chosen) =>
    startFakeProvider({ port: chosen, file: join(folder, "carrier.jsonl") }),
  ),
);
const courier = stack.use(
  await onPort("courier-port", values["courier-port"], (chosen) =>
    startFakeProvider({ contract: "ignores", port: chosen, file: join(folder, "courier.jsonl") }),
  ),
);

// The configuration reads these when it is loaded, as it would read them from a real environment.
env["SHOP_DATA"] = values.data;
env["SHOP_CARRIER"] = carrier.url;
env["SHOP_COURIER"] = courier.url;
await chooseStore(values.store, stack).catch((error: unknown) => {
  console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  return process.exit(2);
});
const { app } = await import("./counterfoil.config.ts");
const { createTables, placeOrder } = await import("./orders.ts");

await app.start();
stack.defer(() => app.stop());
await createTables(app);
await placeOrder(app, { tenant: "acme", id: "1042", total: 4200, currency: "eur" });
const { url, port } = await onPort("port", values.port, (chosen) => app.listen({ port: chosen }));

const data = values.data === join(".counterfoil", "shop") ? "" : `SHOP_DATA=${values.data} `;
const { SHOP_STORE = "sqlite" } = env;
const store = SHOP_STORE === "sqlite" ? "" : `SHOP_STORE=${SHOP_STORE} `;
const shop = `--config ${join("examples", "shop", "counterfoil.config.ts")}`;
const at = port === 4600 ? "" : ` --url ${url}`;
console.log(
  `Ready: hooks on ${url}${app.basePath}/<connection> (${[...app.connections.listed.keys()].join(", ")}), worker running, carriers on ${carrier.url} and ${courier.url}, data in ${store === "" ? folder : new URL(SHOP_STORE).host}`,
);
console.log(`Try:   ${store}${data}npm run -s counterfoil -- send stripe --id evt_1 --times 2 ${shop}${at}`);
console.log(`Then:  ${store}${data}npm run -s counterfoil -- show acme 1042/fulfil/v1 ${shop}`);
await ending;

/** Starts something on a port, and says which flag chooses another when that one is taken. */
async function onPort<T>(flag: string, port: string, start: (port: number) => Promise<T>): Promise<T> {
  try {
    return await start(Number(port));
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    console.error(`Cannot listen on port ${port}: ${error.message}; choose another with --${flag}`);
    return process.exit(2);
  }
}
