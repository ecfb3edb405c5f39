/**
 * The eight assertions of "Handle duplicate project webhooks with one SQLite transaction", on the
 * product: real signed deliveries through `receive()`, on a file, in the example's own application.
 */
import { signDelivery } from "counterfoil/providers";
import { expect, test } from "vitest";
import { createTables, projectsApp, tracker } from "../examples/projects/counterfoil.config.ts";
import { dialect } from "./support/dialect.ts";
import { ours, storeAt } from "./support/engine.ts";
import { openApp, rows, temporaryDatabase } from "./support/order-app.ts";

const secrets = { "tracker-team-a": "secret-of-team-a", "tracker-team-b": "secret-of-team-b" };

interface ProjectEvent {
  readonly connection: keyof typeof secrets;
  readonly id: string;
  readonly project: string;
  readonly version: number;
  readonly status: string;
}

test("duplicate, stale, isolated and failed deliveries", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(projectsApp(storeAt(address), secrets)));
  await createTables(app);
  const apply = ({ connection, id, project, version, status }: ProjectEvent) =>
    app.receive(
      connection,
      signDelivery(tracker.rules, secrets[connection], {
        body: Buffer.from(
          JSON.stringify({ id, type: "project.updated", data: { project, version, state: { status } } }),
        ),
        timestampMs: Date.now(),
      }),
    );
  const statuses = async (): Promise<readonly unknown[]> =>
    (await rows(app, "SELECT status FROM projects ORDER BY connection")).map(({ status }) => status);
  const e: ProjectEvent = { connection: "tracker-team-a", id: "e2", project: "p1", version: 2, status: "done" };

  expect(await apply(e)).toMatchObject({ outcome: "applied", duplicate: false });
  expect(await apply(e)).toMatchObject({ outcome: "applied", duplicate: true });
  expect(await apply({ ...e, id: "e1", version: 1, status: "active" })).toMatchObject({ outcome: "stale" });
  expect(await statuses()).toEqual(["done"]);
  expect(await apply({ ...e, connection: "tracker-team-b" })).toMatchObject({ outcome: "applied", duplicate: false });

  // The article's invalid status fails in the database; here the schema finds it first, and the event is kept for the operator.
  for (const statement of dialect.raising({ table: "projects", before: "UPDATE" })) await rows(app, statement);
  await expect(apply({ ...e, id: "e3", version: 3, status: "active" })).rejects.toMatchObject({
    code: "HANDLER_FAILED",
  });
  expect(await rows(app, `SELECT count(*) AS n FROM ${ours("receipts")} WHERE event_id = 'e3'`)).toMatchObject([
    { n: 0 },
  ]);
  await rows(app, dialect.mend("projects"));
  expect(await apply({ ...e, id: "e3", version: 3, status: "active" })).toMatchObject({ outcome: "applied" });
  expect(await statuses()).toEqual(["active", "done"]);
});

test("a state that does not fit is quarantined with its bytes, and nothing is applied", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(projectsApp(storeAt(address), secrets)));
  await createTables(app);
  const delivery = signDelivery(tracker.rules, secrets["tracker-team-a"], {
    body: Buffer.from(
      '{"id":"e9","type":"project.updated","data":{"project":"p1","version":1,"state":{"status":"invalid"}}}',
    ),
    timestampMs: Date.now(),
  });
  expect(await app.receive("tracker-team-a", delivery)).toMatchObject({ outcome: "quarantined" });
  expect(await rows(app, "SELECT count(*) AS n FROM projects")).toMatchObject([{ n: 0 }]);
});
