import { expect, test } from "vitest";
import { failover } from "../soak/failover.ts";

const seed = Number(process.env["COUNTERFOIL_SOAK_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

test(
  "a replica promoted under load has every acknowledged event, and no effect is doubled",
  { timeout: 600_000 },
  async () => {
    console.log(`failover: seed ${seed}`);
    const { problems, states, ...figures } = await failover({
      receivers: 2,
      workers: 1,
      deliveries: 1_000,
      calm: 300,
      seed,
    });
    console.log("failover:", figures, states);
    expect(problems, `seed ${seed}`).toEqual([]);
  },
);
