/**
 * Projects mirrored from a tracker: each event holds a project's whole state at an integer revision.
 * Older revisions never overwrite newer ones, whatever order they come in.
 */
import { type App, connect, defineApp, resource, type Store } from "counterfoil";
import { generic } from "counterfoil/providers";
import * as v from "valibot";

const projectState = v.object({ status: v.picklist(["active", "done"]), name: v.optional(v.string()) });

const project = resource("project", {
  state: projectState,
  // The guard stands in the engine's own row; this row follows it, in the same transaction.
  write: ({ tx, connection, id, revision, state }) =>
    tx.sql`INSERT INTO projects (connection, id, version, status)
           VALUES (${connection}, ${id}, ${revision}, ${state?.status ?? "deleted"})
           ON CONFLICT (connection, id) DO UPDATE SET version = excluded.version, status = excluded.status`,
});

type TrackerEvent =
  | { type: "project.updated"; data: { readonly project: string; readonly version: number; readonly state: unknown } }
  | { type: "project.deleted"; data: { readonly project: string; readonly version: number } };

export const tracker = generic({
  name: "tracker",
  signature: { kind: "hmac", header: "x-tracker-signature", prefix: "sha256=" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  data: ["data"],
}).typed<TrackerEvent>();

const updated = tracker.on(
  "project.updated",
  v.object({ project: v.string(), version: v.pipe(v.number(), v.integer()), state: projectState }),
  async ({ event, snapshot }) => {
    const { project: id, version: revision, state } = event.data;
    await snapshot(project, { id, revision, state });
  },
);

const deleted = tracker.on("project.deleted", async ({ event, snapshot }) => {
  await snapshot(project, { id: event.data.project, revision: event.data.version, deleted: true });
});

/** One connection per customer's tracker: their projects and events may share ids and never meet. */
export function projectsApp(store: Store, secrets: Readonly<Record<string, string>>): App {
  return defineApp({
    store,
    connections: Object.entries(secrets).map(([team, secret]) =>
      connect(team, { provider: tracker, secrets: [secret], tenant: team, handlers: [updated, deleted] }),
    ),
    effects: [],
  });
}

export async function createTables(app: App): Promise<void> {
  await app.transaction({ tenant: "setup" }, async ({ tx }) => {
    await tx.sql`
      CREATE TABLE IF NOT EXISTS projects (
        connection TEXT NOT NULL, id TEXT NOT NULL, version TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('active', 'done', 'deleted')),
        PRIMARY KEY (connection, id))`;
  });
}
