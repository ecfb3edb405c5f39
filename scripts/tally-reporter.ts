import type { Reporter, TestModule } from "vitest/node";

/**
 * Prints "12 passed, 0 failed, 1 skipped" alone on the last line, for machines that read the outcome.
 *
 * A file that cannot be loaded, a hook that fails and an error outside any test count as failed: they hide
 * tests, and a tally that left them out would show a broken run as a green one. A test that passed only when
 * it was run again is named above the tally: it hides a race, in the test or in what it tests.
 */
export class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const unsteady: string[] = [];
    const tally = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) tally.failed += 1;
      for (const suite of module.children.allSuites()) if (suite.errors().length > 0) tally.failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        tally[state === "pending" ? "skipped" : state] += 1;
        if (test.diagnostic()?.flaky) unsteady.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    if (unsteady.length > 0) console.log(["Passed only when run again:", ...unsteady].join("\n  "));
    console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
  }
}
