/** A child that takes durable steps: each line it tells was written between two crash points. */
import { answerParent, tellParent } from "../../../src/testing/child.ts";
import { probeFrom } from "../../../src/testing/crash-points.ts";

const probe = probeFrom(process.env);

answerParent({
  step: () => {
    for (const step of ["receipt", "handler", "commit"]) {
      probe?.(`${step}:before`);
      tellParent(step);
      probe?.(`${step}:after`);
    }
    return "stepped";
  },
});
