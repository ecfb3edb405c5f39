import { array, assert, asyncProperty, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import type { Connection } from "../inbox/connection.ts";
import { BodyPool, type BodySink } from "./body-pool.ts";

function connection(id: string, bodyBytesMax = 1_000): Connection {
  return { id, bodyBytesMax } as Connection;
}

/** Holds a body of this many bytes until the result is called; throws as the pool does. */
async function held(pool: BodyPool, id: string, bytes: number): Promise<() => Promise<void>> {
  const { promise: used, resolve: end } = Promise.withResolvers<void>();
  const { promise: added, resolve: begun } = Promise.withResolvers<void>();
  const holding = pool.hold(connection(id), async (body) => {
    body.add(new Uint8Array(bytes));
    begun();
    await used;
  });
  await Promise.race([added, holding]);
  return async () => {
    end();
    await holding;
  };
}

test("whatever one connection holds, every other has its share, and all together never more than the pool", async () => {
  const pool = new BodyPool({ bytesMax: 4_000, connections: 4 });
  const overloaded = { code: "OVERLOADED" };
  const first = [await held(pool, "a", 1_000), await held(pool, "a", 1_000), await held(pool, "a", 500)];
  await expect(held(pool, "a", 1)).rejects.toMatchObject(overloaded);
  const others = await Promise.all(["b", "c", "d"].map((id) => held(pool, id, 500)));
  for (const id of ["b", "c", "d"]) await expect(held(pool, id, 1)).rejects.toMatchObject(overloaded);
  await first[2]?.();
  others.push(await held(pool, "b", 500));
  for (const end of [...first.slice(0, 2), ...others]) await end();
  // Nothing is left behind: the same fits once more.
  for (const bytes of [1_000, 1_000, 500]) await held(pool, "a", bytes);
});

test("a body that fails is let go, at its limit too", async () => {
  const pool = new BodyPool({ bytesMax: 2_000, connections: 1 });
  for (let n = 0; n < 10; n += 1) {
    await expect(held(pool, "a", 1_001)).rejects.toMatchObject({ code: "BODY_TOO_LARGE" });
    const broken = pool.hold(connection("a"), async (body) => {
      body.add(new Uint8Array(900));
      await Promise.resolve();
      throw new Error("cut");
    });
    await expect(broken).rejects.toThrow("cut");
  }
  await held(pool, "a", 1_000);
});

test("a body is the bytes of its chunks, however it is cut, and no chunk is written into", async () => {
  const pool = new BodyPool({ bytesMax: 2_000_000, connections: 1 });
  const collect = (chunks: readonly Uint8Array[]) =>
    pool.hold(connection("a", 1_000_000), (body: BodySink) => {
      for (const chunk of chunks) body.add(chunk);
      return Promise.resolve(body.bytes());
    });
  const cut = array(uint8Array({ maxLength: 40 }), { maxLength: 30 });
  await assert(
    asyncProperty(cut, async (chunks) => {
      const whole = Buffer.concat(chunks);
      const before = chunks.map((chunk) => Buffer.from(chunk));
      expect(whole.equals(await collect(chunks))).toBe(true);
      expect(chunks.map((chunk) => Buffer.from(chunk))).toEqual(before);
    }),
  );
  // In a few buffers, not in one for each chunk.
  expect(await collect(Array.from({ length: 100_000 }, () => new Uint8Array([7])))).toHaveLength(100_000);
});
