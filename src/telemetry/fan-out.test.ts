import { once } from "node:events";
import { expect, test } from "vitest";
import type { Emit, TelemetryEvent } from "../domain/telemetry.ts";
import { fanOut } from "./fan-out.ts";

const event: TelemetryEvent = { kind: "park.released", connection: "stripe", eventId: "evt_1" };

test("every subscriber hears every event in order, one that was added later too", () => {
  const heard: string[] = [];
  const subscribers = new Set<Emit>([(one) => heard.push(`a ${one.kind}`)]);
  const emit = fanOut(subscribers);
  subscribers.add((one) => heard.push(`b ${one.kind}`));
  emit(event);
  expect(heard).toEqual(["a park.released", "b park.released"]);
});

test("a subscriber that throws costs neither the caller nor the others, and warns once without its message", async () => {
  const heard: TelemetryEvent[] = [];
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  process.on("warning", onWarning);
  const warned = once(process, "warning");
  const emit = fanOut([
    () => {
      throw new Error("canary");
    },
    (one) => void heard.push(one),
  ]);
  emit(event);
  emit(event);
  await warned;
  process.off("warning", onWarning);
  expect(heard).toEqual([event, event]);
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^A telemetry subscriber failed on park.released: Error at fan-out.test.ts:\d+$/),
  ]);
});

test("an async subscriber that rejects is one that failed, and ends nothing", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): number => warnings.push(warning);
  process.on("warning", onWarning);
  const warned = once(process, "warning");
  const emit = fanOut([
    // As users write them: an async function is accepted where nothing is expected back.
    async () => {
      await Promise.resolve();
      throw new Error("canary");
    },
  ]);
  // Vitest fails a run with an unhandled rejection.
  emit(event);
  emit(event);
  await warned;
  process.off("warning", onWarning);
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^A telemetry subscriber failed on park.released: Error at fan-out.test.ts:\d+$/),
  ]);
});
