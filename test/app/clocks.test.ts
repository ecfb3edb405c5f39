/** An application and its store read the same clocks, or are told so where they are put together. */

import { defineApp, type AppOptions } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import { VirtualClock } from "counterfoil/testing";
import { expect, test } from "vitest";

const rest = { connections: [], effects: [] };
const clock = new VirtualClock();

test("an application goes by the clock that its store reads", () => {
  const store = sqlite(":memory:", { clock });
  for (const testing of [undefined, {}, { clock }] satisfies AppOptions["testing"][]) {
    expect(defineApp({ ...rest, store, ...(testing && { testing }) }).runtime.clock).toBe(clock);
  }
});

test.each([
  ["the machine's", sqlite(":memory:")],
  ["another", sqlite(":memory:", { clock: new VirtualClock() })],
])("a store that reads %s clock than the test's is refused where the two are put together", (_which, store) => {
  expect(() => defineApp({ ...rest, store, testing: { clock } })).toThrow(
    expect.objectContaining({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("testing.clock is not the clock that the store reads; give it to the store"),
    }),
  );
});
