import { onTestFinished } from "vitest";
import { type TemporaryDatabase, temporaryDatabase } from "./engine.ts";

/** A database that ends with the test that runs. */
export async function ownDatabase(): Promise<TemporaryDatabase> {
  const database = await temporaryDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database;
}
