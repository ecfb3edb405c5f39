/** `npm start -- --store postgres`: the shop on a server that is there for the try alone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { ownDatabase } from "../support/own-database.ts";
import { ask } from "../support/postgres-query.ts";

const file = fileURLToPath(new URL("../../examples/shop/start.ts", import.meta.url));

test("the shop starts on a server of its own, which is gone with it", { timeout: 180_000 }, async () => {
  const { folder } = await ownDatabase();
  const ports = ["--port", "--carrier-port", "--courier-port"].flatMap((flag) => [flag, "0"]);
  const flags = ["--conditions=counterfoil-source", file, "--store", "postgres", "--data", folder, ...ports];
  const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close");
  let url = "";
  for await (const line of createInterface({ input: child.stdout })) {
    [, url = ""] = /SHOP_STORE=(\S+)/u.exec(line) ?? [];
    if (url !== "") break;
  }
  expect(await ask(url, "SELECT id, status FROM orders")).toEqual([{ id: "1042", status: "awaiting_payment" }]);
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  await expect(ask(url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
});
