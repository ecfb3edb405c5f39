/** A process that copies a store, changes it, and ends the copy, until a crash point ends it. */
import { sqlite } from "counterfoil/sqlite";
import { systemClock } from "../../../src/domain/system-clock.ts";
import { commit } from "../../../src/store/conformance/bundle.conformance.ts";
import { receiptDraft } from "../../../src/store/conformance/drafts.conformance.ts";
import { answerParent } from "../../../src/testing/child.ts";
import { countPoints, probeFrom } from "../../../src/testing/crash-points.ts";
import { runCopy } from "../run-copy.ts";

const [path = "", url = ""] = process.argv.slice(2);
const counter = countPoints();
const probe = probeFrom(process.env) ?? counter.probe;
const sides = { path, url, clock: systemClock() };

/** More than what is left for the end of a copy. */
const changes = Array.from({ length: 250 }, (_, index) => receiptDraft({ eventId: `changed_${index}` }));

async function copy(): Promise<void> {
  await runCopy(sides, { probe });
  const file = sqlite(path);
  await file.open();
  await commit(file, (tx) => tx.claimReceipts(changes));
  await file.close();
  await runCopy(sides, { probe, final: true });
}

answerParent({ copy, points: () => [...counter.points] });
