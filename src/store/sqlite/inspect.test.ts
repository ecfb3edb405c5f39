import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { Finding } from "../../domain/finding.ts";
import { inspectFile, type Room } from "./inspect.ts";

const mebibyte = 1024 ** 2;

/** The findings of a file beside a log of this size, on a disk like this. */
function found(subject: string, room: Partial<Room>, logBytes = 0): Finding | undefined {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "test.db");
  writeFileSync(`${path}-wal`, "");
  truncateSync(`${path}-wal`, logBytes);
  using database = new DatabaseSync(":memory:");
  const findings = inspectFile({ database }, path, () => ({
    freeBytes: 10_000 * mebibyte,
    fileSystem: 0xef53,
    ...room,
  }));
  return findings.find((finding) => finding.subject === subject);
}

test("a disk with little room is a warning, one with almost none a failure", () => {
  expect(found("disk", {})?.level).toBe("ok");
  expect(found("disk", { freeBytes: 500 * mebibyte })).toMatchObject({ level: "warning", mend: expect.any(String) });
  expect(found("disk", { freeBytes: 10 * mebibyte })).toMatchObject({
    level: "failure",
    says: expect.stringContaining("10.0 MiB free"),
  });
});

test("a log that cannot start over and a network file system that was allowed are warnings", () => {
  expect(found("log", {}, 300 * mebibyte)).toMatchObject({
    level: "warning",
    says: expect.stringContaining("300.0 MiB"),
  });
  expect(found("log", {}, 30 * mebibyte)?.level).toBe("ok");
  expect(found("file", { fileSystem: 0x6969 })).toMatchObject({
    level: "warning",
    says: expect.stringContaining("(NFS)"),
  });
  expect(found("file", {})?.level).toBe("ok");
});

test("a database in memory is told apart", () => {
  using database = new DatabaseSync(":memory:");
  expect(inspectFile({ database }, ":memory:")[1]).toMatchObject({
    level: "warning",
    mend: expect.stringContaining("file"),
  });
});
