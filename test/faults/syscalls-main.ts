/** `npm run -s syscalls`: see the usage below. */
import { parseArgs } from "node:util";
import { inject } from "./injected.ts";
import { type Engine, Site } from "./site.ts";
import { reasonToSkip, skippedCode } from "./xfs-disk.ts";

const usage = `Usage: npm run -s syscalls -- [options]

Makes system calls of whoever writes to the disk fail while events are received and worked off,
lets them succeed again, and cuts the power. While nothing can be kept, nothing may be
acknowledged; once it can be, all goes on in the same process; and the disk must hold what was
acknowledged. Takes Linux, root, strace and xfsprogs; exit code 77 says that this machine cannot.

  --store NAME   sqlite, postgres, or both (default)
`;

/** Of each, nothing can be kept while it lasts; "sometimes" fails a part of them, and others may be kept. */
const always = ["fsync,fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC"];
const sometimes = ["fsync,fdatasync:error=EIO:when=2+3", "pwrite64:error=ENOSPC:when=5+7"];
const faults: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: [...always, ...sometimes],
  // A server that cannot write its log ends all of its processes, and itself when it cannot begin anew.
  postgres: always,
};
const deliveries = 48;

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "both" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const reason = reasonToSkip(["strace", "mkfs.xfs", "xfs_io"]);
if (reason !== undefined) {
  console.error(`syscalls skipped: ${reason}`);
  process.exit(skippedCode);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

let failed = 0;
for (const engine of ["sqlite", "postgres"] as const) {
  if (values.store !== "both" && values.store !== engine) continue;
  for (const fault of faults[engine]) if (!(await failing(engine, fault))) failed += 1;
}
console.log(failed === 0 ? "PASS" : `FAIL: ${failed} faults`);
process.exit(failed === 0 ? 0 : 1);

async function failing(engine: Engine, fault: string): Promise<boolean> {
  await using site = await Site.start(engine, { orders: deliveries * 4 });
  const atMost = (more: number): (() => boolean) => {
    const end = site.sent + more;
    return () => site.sent < end;
  };
  await site.send(atMost(deliveries));
  let during;
  let hits;
  {
    await using injection = await inject(fault, site.writers);
    during = await site.send(atMost(deliveries));
    hits = injection.hits;
  }
  await site.serverIsBack();
  // The same process: nobody has restarted it.
  await site.sendAgain();
  await site.cutAt(site.acknowledged.size + deliveries);
  const { acknowledged, unsaid, lost, problems } = await site.recover();
  const early = always.includes(fault) ? during.acknowledged : 0;
  const held = hits() > 0 && early === 0 && lost.length === 0 && problems.length === 0;
  const met = `${hits()} calls failed, ${during.acknowledged} of ${during.sent} acknowledged meanwhile`;
  const kept = `${acknowledged} acknowledged, ${lost.length} of them lost, ${unsaid} kept unsaid`;
  console.log([`${held ? "ok" : "NOT OK"}: ${engine}, ${fault}: ${met}; then ${kept}`, ...problems].join("; "));
  return held;
}
