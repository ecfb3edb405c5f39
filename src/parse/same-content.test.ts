import { describe, expect, test } from "vitest";
import { bodyPlan, volatileOf } from "./body-plan.ts";
import { parseBody } from "./parse-body.ts";
import { sameContent } from "./same-content.ts";

function digestOf(text: string, volatile: readonly (readonly string[])[]): string {
  return parseBody(Buffer.from(text), bodyPlan({ volatile })).digest;
}

describe("sameContent()", () => {
  test("compares by the rule that the digest was made with", () => {
    const strict = digestOf('{"id":1,"n":1}', []);
    const lenient = digestOf('{"id":1,"n":1}', [["n"]]);
    const redelivery = Buffer.from('{"id":1,"n":2}');
    expect([sameContent(strict, redelivery), sameContent(lenient, redelivery)]).toEqual([false, true]);
    expect(sameContent(lenient, Buffer.from('{"id":2,"n":1}'))).toBe(false);
    expect(sameContent(strict, Buffer.from('{"id":1,"n":1}'))).toBe(true);
  });

  test("cannot tell by a rule of another version", () => {
    for (const digest of [`2:${"0".repeat(64)}`, `10/n:${"0".repeat(64)}`, "junk", ""]) {
      expect(sameContent(digest, Buffer.from("{}"))).toBeUndefined();
    }
  });

  test("reads its paths back from the rule, whatever their names", () => {
    const paths = [["a", "b/c"], ["d,e:f"], ["%"], ["ü~1"]];
    const { rule } = bodyPlan({ volatile: paths });
    expect(rule).not.toContain(":");
    expect(new Set(volatileOf(rule))).toEqual(new Set(paths));
  });
});
