import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";

vi.setConfig({ testTimeout: 120_000 });

const main = new URL("../../src/cli/main.ts", import.meta.url).pathname;

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly lines: readonly unknown[] }> {
  const conditions = ["--conditions=counterfoil-source"];
  const ran = promisify(execFile)(process.execPath, [...conditions, main, ...args, "--json"]);
  const { stdout, code } = await ran.then(
    (done) => ({ ...done, code: 0 }),
    (error: unknown) => error as { readonly stdout: string; readonly code: number },
  );
  const lines = stdout.split("\n").filter((line) => line !== "");
  return { code, lines: lines.map((line) => JSON.parse(line) as unknown) };
}

/** What a run that ends in an error says. */
async function complaint(...args: readonly string[]): Promise<string> {
  const ran = promisify(execFile)(process.execPath, ["--conditions=counterfoil-source", main, ...args]);
  return ran.then(
    () => "nothing",
    (error: unknown) => (error as { readonly stderr: string }).stderr,
  );
}

test("providers lists all, and shows one with what is unconfirmed", async () => {
  const { lines } = await run("providers");
  expect(lines.length).toBeGreaterThanOrEqual(51);
  const {
    lines: [shown],
  } = await run("providers", "show", "mailgun");
  expect(shown).toMatchObject({ name: "mailgun", proof: "unconfirmed", unconfirmed: { ackMs: expect.any(String) } });
  expect((await run("providers", "show", "nobody")).code).toBe(2);
});

test("provider test runs a declared provider's vectors, and ends with 1 when one comes out otherwise", async () => {
  // Below the repository, so that the package's own name resolves.
  const folder = await mkdtemp(new URL("../../.declared-", import.meta.url).pathname);
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "acme.ts");
  await writeFile(
    file,
    `import { generic } from "counterfoil/providers";
export default generic({
  name: "acme",
  signature: { kind: "hmac", header: "x-hub-signature-256", prefix: "sha256=" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
});
const headers = { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" };
const secrets = ["It's a Secret to Everybody"];
export const vectors = [
  { name: "published", secrets, headers, body: "Hello, World!", valid: true },
  { name: "changed", secrets, headers, body: "Hello, World?", valid: false },
];
`,
  );
  expect(await run("provider", "test", file)).toEqual({
    code: 0,
    lines: [
      { name: "published", passed: true, verdict: "verified" },
      { name: "changed", passed: true, verdict: "signature_mismatch" },
    ],
  });
  const wrong = join(folder, "vectors.json");
  await writeFile(
    wrong,
    JSON.stringify([{ name: "w", secrets: ["a secret of theirs"], headers: {}, body: "", valid: true }]),
  );
  expect(await run("provider", "test", file, "--vectors", wrong)).toEqual({
    code: 1,
    lines: [{ name: "w", passed: false, verdict: "missing_signature" }],
  });
  for (const [text, says] of [
    ["[{}", "it is no JSON; write a list of deliveries"],
    ["[]", "it has no vectors; export some"],
    [
      '[{"name":"w","secrets":["s"],"headers":{},"body":""},null]',
      "Cannot use vector 1: it lacks valid (true or false)",
    ],
    ["[null]", "vector 1: it lacks name (text), secrets (a list of texts), headers (an object of texts), body (text)"],
  ] as const) {
    await writeFile(wrong, text);
    expect(await complaint("provider", "test", file, "--vectors", wrong)).toContain(says);
  }
  const missing = join(folder, "missing.json");
  expect(await complaint("provider", "test", file, "--vectors", missing)).toContain(`there is no file ${missing}`);
});
