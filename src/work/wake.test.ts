import { expect, test } from "vitest";
import { noSignals, Wake } from "./wake.ts";

test("listeners hear what a commit did, of their own topic, until they leave", () => {
  const wake = new Wake();
  const heard: string[] = [];
  const leave = wake.on("owed", () => void heard.push("owed"));
  wake.on("arrived", () => void heard.push("arrived"));
  wake.committed(noSignals());
  wake.committed({ owed: true, arrived: false });
  wake.committed({ owed: true, arrived: true });
  leave();
  wake.committed({ owed: true, arrived: true });
  expect(heard).toEqual(["owed", "owed", "arrived", "arrived"]);
});
