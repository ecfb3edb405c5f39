/** A process that calls where it is told to, for tests of what its environment must not change. */
import { defaults } from "../../../src/domain/limits.ts";
import { Caller } from "../../../src/outbox/caller.ts";
import { answerParent } from "../../../src/testing/child.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const caller = new Caller({ clock: new VirtualClock(), limits: defaults, idleMs: 1_000 });

answerParent({
  call: async (url) => {
    const { origin, href } = new URL(url as string);
    const request = { method: "GET", url: href, body: null, headers: {}, systemHeaders: {} } as const;
    const { kind, phase } = await caller.call(request, { mayStart: () => true, allow: [origin] });
    return { kind, phase };
  },
});
