import { postgresServers } from "../../../test/support/postgres.ts";
import { exerciseStore } from "../conformance/exercise-store.conformance.ts";
import { postgresBundle } from "./bundle.conformance.ts";

for (const { name, server } of postgresServers()) {
  exerciseStore(name, async () => postgresBundle({}, await server()));
}
