/** Starts a worker and nothing else, tells whether that holds the process, and stops; then nothing may hold it. */
import { orderApp } from "../../support/order-app.ts";

const app = orderApp(process.argv[2] ?? "");
const isHeld = (): boolean => process.getActiveResourcesInfo().includes("MessagePort");
await app.open();
const before = isHeld();
await app.start({ roles: ["worker"] });
const during = isHeld();
await app.stop();
process.stdout.write(JSON.stringify({ before, during }));
