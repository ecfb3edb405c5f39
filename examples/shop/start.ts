/** `npm start`: the shop on embedded SQLite, with two carriers to call, until Ctrl-C. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startFakeProvider } from "counterfoil/testing";
import { dataFolder } from "./data-folder.ts";
import { createTables, placeOrder } from "./orders.ts";

const usage = `npm start -- [--port 4600] [--carrier-port 4601] [--courier-port 4602] [--data .counterfoil/shop]
Environment: SHOP_PORT, SHOP_CARRIER_PORT, SHOP_COURIER_PORT, SHOP_DATA; SHOP_LOG=1 logs JSON lines.`;

const { env } = process;
const { values } = parseArgs({
  options: {
    port: { type: "string", default: env["SHOP_PORT"] ?? "4600" },
    "carrier-port": { type: "string", default: env["SHOP_CARRIER_PORT"] ?? "4601" },
    "courier-port": { type: "string", default: env["SHOP_COURIER_PORT"] ?? "4602" },
    data: { type: "string", default: env["SHOP_DATA"] ?? join(".counterfoil", "shop") },
    help: { type: "boolean", short: "h", default: false },
  },
});
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
  await startFakeProvider({ port: Number(values["carrier-port"]), file: join(folder, "carrier.jsonl") }),
);
const courier = stack.use(
  await startFakeProvider({
    contract: "ignores",
    port: Number(values["courier-port"]),
    file: join(folder, "courier.jsonl"),
  }),
);

// The configuration reads these when it is loaded, as it would read them from a real environment.
env["SHOP_DATA"] = values.data;
env["SHOP_CARRIER"] = carrier.url;
env["SHOP_COURIER"] = courier.url;
const { app } = await import("./counterfoil.config.ts");

await app.start();
stack.defer(() => app.stop());
await createTables(app);
await placeOrder(app, { tenant: "acme", id: "1042", total: 4200, currency: "eur" });
const { url, port } = await app.listen({ port: Number(values.port) });

const config = join("examples", "shop", "counterfoil.config.ts");
const at = port === 4600 ? "" : ` --url ${url}`;
console.log(
  `Ready: hooks on ${url}${app.basePath}/<connection> (${[...app.connections.keys()].join(", ")}), worker running, carriers on ${carrier.url} and ${courier.url}, data in ${folder}`,
);
console.log(`Try:   npm run -s counterfoil -- send stripe --config ${config}${at}`);
await ending;
