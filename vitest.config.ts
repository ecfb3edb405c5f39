import { defineConfig } from "vitest/config";
import { TallyReporter } from "./scripts/tally-reporter.ts";

/** Resolves the package's own name to its sources, so that no test needs a build. */
const source = "counterfoil-source";

/** Tests that name no engine: they run on each. */
const everyEngine = [
  "test/{app,cases,crash,http,inbox,model,operator,outbox,soak,work,worker}/**/*.test.ts",
  "test/{article-retries,article-projects,shop}.test.ts",
  "test/mounting/mounting.test.ts",
];

/** Tests of a file on a disk among them. */
const sqliteOnly = ["test/cases/store-disk-full.test.ts"];

/** Tests that need a PostgreSQL server. */
const servers = ["src/store/postgres/**/*.test.ts", "test/kit/postgres.test.ts", "test/postgres/**/*.test.ts"];

export default defineConfig({
  test: {
    // Databases and child processes share the machine with the tests: two at once, and time enough for a slow disk.
    maxWorkers: 2,
    teardownTimeout: 60_000,
    // None unless asked for. The reporter names each test that needed one.
    retry: Number(process.env.VITEST_RETRY ?? 0),
    reporters: ["default", new TallyReporter()],
    projects: [
      project("sqlite", { include: ["{src,test,scripts,examples,bench}/**/*.test.ts"], exclude: servers }),
      project("postgres", {
        include: [...everyEngine, ...servers],
        exclude: sqliteOnly,
        globalSetup: ["test/support/postgres-setup.ts"],
      }),
    ],
  },
});

interface Files {
  readonly include: string[];
  readonly exclude?: string[];
  readonly globalSetup?: string[];
}

function project(engine: "sqlite" | "postgres", files: Files) {
  return {
    resolve: { conditions: [source] },
    ssr: { resolve: { conditions: [source], externalConditions: [source] } },
    test: {
      ...files,
      name: engine,
      env: { COUNTERFOIL_TEST_ENGINE: engine },
      pool: "forks" as const,
      // A process takes file after file: to start one and load the sources again took a second for each.
      isolate: false,
      execArgv: [`--conditions=${source}`],
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  };
}
