/** graphile-worker at its defaults: one job at a time, each claimed and completed by itself. */
import { drainByGraphile } from "../../kit/drain-by-graphile.ts";

await drainByGraphile({});
