import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startProcess } from "../../src/testing/processes.ts";

test("a provider killed by SIGKILL and started again has lost no effect that it answered", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fake-provider-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "provider.jsonl");
  let answered = 0;
  for (let life = 1; life <= 3; life += 1) {
    await using child = startProcess(new URL("./children/echo.ts", import.meta.url));
    const url = (await child.ask("provider", file)) as string;
    const counts = (await (await fetch(`${url}/counts`)).json()) as { readonly effects: number };
    expect(counts.effects).toBe(answered);
    for (let order = 1; order <= 5; order += 1) {
      const response = await fetch(`${url}/v1/shipments`, { method: "POST", body: JSON.stringify({ life, order }) });
      expect(response.status).toBe(201);
      answered += 1;
    }
    await child.kill();
  }
});
