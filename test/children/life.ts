/** A process that receives over HTTP and carries out what it owes, until its parent or a crash point ends it. */
import { answerParent } from "../../src/testing/child.ts";
import { countPoints, probeFrom } from "../../src/testing/crash-points.ts";
import { addOrder, crashApp, takeBackGift } from "../support/crash-app.ts";

const [address = "", carrier = ""] = process.argv.slice(2);
const counter = countPoints();
const app = crashApp({ address, carrier, probe: probeFrom(process.env) ?? counter.probe });

answerParent({
  listen: async () => (await app.listen({ port: 0 })).port,
  place: (order) => addOrder(app, String(order)),
  "take back": (order) => takeBackGift(app, String(order)),
  points: () => counter.points.length,
  work: () => app.drain({ budget: "20s" }),
  stop: () => app.stop(),
});
