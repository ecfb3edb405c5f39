import { defineConfig } from "vitest/config";
import { TallyReporter } from "./scripts/tally-reporter.ts";

/** Resolves the package's own name to its sources, so that no test needs a build. */
const source = "counterfoil-source";

export default defineConfig({
  resolve: { conditions: [source] },
  ssr: { resolve: { conditions: [source], externalConditions: [source] } },
  test: {
    include: ["{src,test,scripts,examples,bench}/**/*.test.ts"],
    globalSetup: ["test/support/postgres-setup.ts"],
    pool: "forks",
    execArgv: [`--conditions=${source}`],
    // Databases and child processes share the machine with the tests: two at once, and time enough for a slow disk.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
    reporters: ["default", new TallyReporter()],
  },
});
