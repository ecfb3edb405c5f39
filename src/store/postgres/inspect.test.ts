import { expect, test } from "vitest";
import { findingsOf, type ServerSettings } from "./inspect.ts";

const well: ServerSettings = {
  version: "18.1",
  fsync: "on",
  fullPageWrites: "on",
  checksums: "on",
  connectionsMax: 100,
  connections: 10,
  recovering: false,
  bytes: 1024,
};

function unwell(changes: Partial<ServerSettings>): readonly string[] {
  return findingsOf({ ...well, ...changes })
    .filter(({ level }) => level !== "ok")
    .map(({ subject, level, mend }) => `${level} ${subject}: ${mend}`);
}

test("a server whose settings give commits away, that runs out, or is no primary is found", () => {
  expect(unwell({})).toEqual([]);
  expect(unwell({ fsync: "off" })).toEqual(["failure durability: set both to on in postgresql.conf"]);
  expect(unwell({ fullPageWrites: "off" })).toEqual(["failure durability: set both to on in postgresql.conf"]);
  expect(unwell({ checksums: "off" })).toEqual([expect.stringContaining("warning checksums")]);
  expect(unwell({ connections: 95 })).toEqual([expect.stringContaining("warning connections: put PgBouncer")]);
  expect(unwell({ recovering: true })).toEqual(["failure database: give the address of the primary"]);
});
