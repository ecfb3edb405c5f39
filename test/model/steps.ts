/** What may happen next, as data: a run is a list of these, printed and shrunk as one. */
import * as fc from "fast-check";
import { faults, type FaultName } from "./carriers.ts";
import { facts, orders, scopes, tenants } from "./facts.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Objects like those of a literal, so that a failing plan can be put into a test as it is printed. */
const plain = { noNullPrototype: true } as const;

/** Which of the two processes. */
const process = fc.constantFrom(0, 1);
/** How far a process gets: through, to answers that it does not hear, to claims that it does not send, or nowhere. */
const until = fc.constantFrom("heard", "called", "claimed", "asked");
/** Whether a process that was stopped meets its sockets or its timers first. */
const first = fc.constantFrom("answers", "timers");
const delivery = fc.record(
  {
    scope: often(fc.nat(scopes.length - 2), fc.constant(scopes.length - 1)),
    fact: fc.nat(facts.length - 1),
    variant: often(fc.constant(0), fc.constant(1)),
    forged: often(fc.constant(false), fc.constant(true)),
  },
  plain,
);
const order = { tenant: fc.constantFrom(...tenants), order: fc.constantFrom(...orders.map(({ id }) => id)) };
/** An order and who says that it is paid. */
const payment = { scope: fc.nat(2), payment: fc.nat(orders.length - 1) };
const sendFault = fc.constantFrom(...(Object.keys(faults) as FaultName[]));
const lookupFault = fc.constantFrom("reset", "unavailable", "busy", "silent", "locked" as const satisfies FaultName);

/** What a process is asked to do, with weights. */
const deeds = [
  [10, of("deliver", { process, deliveries: fc.array(delivery, { minLength: 1, maxLength: 4 }) })],
  [4, of("redeliver", { process, nth: fc.nat(30), other: fc.constantFrom(false, false, true) })],
  [1, of("race", { process, delivery })],
  [
    12,
    of("pay", {
      process,
      ...payment,
      faults: fc.array(sendFault, { maxLength: 2 }),
      until,
      afterwards: fc.constantFrom("goes on", "goes on", "sleeps", "sleeps", "crashes"),
    }),
  ],
  [
    5,
    of("doubt", {
      process,
      ...payment,
      fault: fc.constantFrom("lost", "closed", "gateway", "unavailable"),
      afterwards: fc.constantFrom("key dies", "is asked about", "clock back", "clock ahead"),
    }),
  ],
  [6, of("overtake", { process, ...payment, until: fc.constantFrom("called", "claimed"), first })],
  [4, of("spoil", { process, delivery, how: fc.constantFrom("throws", "breaks") })],
  [3, of("line up", { process, payment: payment.payment, first: fc.constantFrom("waits", "fails") })],
  [8, of("place", { process, ...order })],
  [1, of("cancel order", { process, ...order })],
  [1, of("owe again", { process, ...order, other: fc.boolean() })],
  [8, of("work", { process })],
  [3, of("sleep", { process, until })],
  [3, of("crash", { process, until })],
  [
    5,
    of("operate", {
      process,
      verb: fc.constantFrom("retry", "lookup", "lookup", "cancel", "done", "renew"),
      nth: fc.nat(20),
    }),
  ],
  [
    2,
    of("decide", {
      process,
      verb: fc.constantFrom("apply", "keep", "take", "acknowledge", "reprocess"),
      nth: fc.nat(20),
    }),
  ],
  [1, of("resume", { process })],
] as const;

const spans = [1, 5, 11, 25, 25, 70, 360, 360].map((seconds) => seconds * second);

/** What happens to processes, machine and providers, with weights. */
const incidents = [
  [9, of("pass", { ms: fc.constantFrom(...spans) })],
  [4, of("rouse", { first })],
  [2, of("spoil hook", {})],
  [3, of("mend", {})],
  [5, of("fault", { fault: sendFault })],
  [2, of("lookup fault", { fault: lookupFault })],
  [3, of("release", {})],
  [2, of("reboot", { downMs: fc.constantFrom(second, minute, hour) })],
  [1, of("step wall", { ms: fc.constantFrom(-hour, -minute, minute, hour) })],
  [2, of("suspend", { ms: fc.constantFrom(6 * minute, hour) })],
] as const;

type Made<Weighted extends readonly (readonly [number, fc.Arbitrary<unknown>])[]> =
  Weighted[number][1] extends fc.Arbitrary<infer One> ? One : never;
export type Deed = Made<typeof deeds>;
export type Incident = Made<typeof incidents>;
export type Step = Deed | Incident;
export type StepOf<Kind extends Step["kind"]> = Extract<Step, { readonly kind: Kind }>;

/** A run: what happens, and the seed of the processes' own chance. */
export interface Plan {
  readonly chance: number;
  readonly steps: readonly Step[];
}

const step: fc.Arbitrary<Step> = fc.oneof(
  ...[...deeds, ...incidents].map(([weight, arbitrary]) => ({ weight, arbitrary: arbitrary as fc.Arbitrary<Step> })),
);

/** Without the bias towards the small, which is for values and not for lives. */
export const plans: fc.Arbitrary<Plan> = fc.noBias(
  fc.record({ chance: fc.nat(), steps: fc.array(step, { minLength: 1, maxLength: 80, size: "max" }) }, plain),
);

function of<const Kind extends string, Fields extends object>(
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<Fields & { readonly kind: Kind }> {
  return fc.record({ kind: fc.constant(kind), ...fields }, plain) as never;
}

function often<T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: rare });
}
