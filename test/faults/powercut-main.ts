/** `npm run -s powercut`: see the usage below. */
import { parseArgs } from "node:util";
import { seededRandom } from "../../src/testing/random.ts";
import { inject } from "./injected.ts";
import { Site, type Engine, type Verdict } from "./site.ts";
import { reasonToSkip, skippedCode } from "./xfs-disk.ts";

const usage = `Usage: npm run -s powercut -- [options]

Cuts the power of a disk while events are received and worked off, and compares what was
acknowledged with what the disk kept. Takes Linux, root and xfsprogs; exit code 77 says that
this machine cannot. The last round is on a disk that lies about its syncs (by strace, where
there is one): it must lose events, or the others would prove nothing.

  --store NAME   sqlite, postgres, or both (default)
  --rounds N     power cuts for each (default 3)
  --seed N       of when the power goes
`;

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "both" },
    rounds: { type: "string", default: "3" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const reason = reasonToSkip(["mkfs.xfs", "xfs_io"]);
if (reason !== undefined) {
  console.error(`powercut skipped: ${reason}`);
  process.exit(skippedCode);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const random = seededRandom(Number(values.seed));
const canLie = reasonToSkip(["strace"]) === undefined;
console.log(`powercut, seed ${values.seed}`);
let failed = 0;
for (const engine of ["sqlite", "postgres"] as const) {
  if (values.store !== "both" && values.store !== engine) continue;
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    const verdict = await cutOnce(engine, 60 + random.below(240));
    const held = verdict.lost.length === 0 && verdict.problems.length === 0;
    if (!held) failed += 1;
    tell(`${engine}, cut ${round}`, verdict, held);
  }
  if (!canLie) continue;
  const lied = await cutLiar(engine, 200);
  const shows = lied.lost.length > 0;
  if (!shows) failed += 1;
  tell(`${engine}, a disk that lies`, { ...lied, problems: [] }, shows);
}
console.log(failed === 0 ? "PASS" : `FAIL: ${failed} rounds, seed ${values.seed}`);
process.exit(failed === 0 ? 0 : 1);

async function cutOnce(engine: Engine, after: number): Promise<Verdict> {
  await using site = await Site.start(engine, { orders: after * 2 });
  await site.cutAt(after);
  return await site.recover();
}

/** What a disk loses that says it has synced and has not: much, or all that the database needs to open. */
async function cutLiar(engine: Engine, after: number): Promise<Verdict> {
  await using site = await Site.start(engine, { orders: after * 2 });
  {
    await using _liar = await inject("fsync,fdatasync:retval=0", site.writers);
    await site.cutAt(after);
  }
  try {
    return await site.recover();
  } catch {
    return { acknowledged: site.acknowledged.size, unsaid: 0, lost: [...site.acknowledged], problems: [] };
  }
}

function tell(what: string, { acknowledged, unsaid, lost, problems }: Verdict, held: boolean): void {
  const figures = `${acknowledged} acknowledged, ${lost.length} of them lost, ${unsaid} kept unsaid`;
  console.log(`${held ? "ok" : "NOT OK"}: ${what}: ${figures}${problems.map((each) => `; ${each}`).join("")}`);
}
