import { describe, expect, test } from "vitest";
import { eachBundle, type MakeBundle } from "./bundle.conformance.ts";

/** What an engine finds where it looks at itself. */
export function exerciseInspecting(make: MakeBundle): void {
  describe("a look at the database", () => {
    const bundle = eachBundle(make);

    test("says what it is and how it stands, each finding that is not well with its mend", async () => {
      const findings = await bundle().store.inspect();
      expect(findings[0]).toMatchObject({ subject: "database", level: "ok", says: expect.stringMatching(/SQL\w* \d/) });
      for (const { level, says, mend } of findings) {
        expect(says).not.toBe("");
        expect(mend === null).toBe(level === "ok");
      }
    });
  });
}
