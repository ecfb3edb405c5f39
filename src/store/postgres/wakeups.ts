/**
 * Hearing of work that other processes' commits made, as soon as they are committed.
 *
 *   connect -> LISTEN -> test: a notification of our own comes back -> hear; test again once in a while
 *      ^                   |                                            |
 *      +---- pause, longer each time <---- it did not, or the connection ended
 *
 * A notification is a hint: whoever polls finds the same work later, and has to. So nothing here is told
 * as an error, and nothing is relied on: a pooler in between may swallow LISTEN without a word, which only
 * the test shows, and what was said while a connection was gone is made up for by a wake-up once another hears.
 *
 * Notifications are sent by statements of their own, after the commit that they tell of: inside of a
 * transaction they would hold a lock of the whole database until its commit is on the disk, and every
 * commit that notifies would wait for the one before.
 */
import { randomBytes } from "node:crypto";
import type { News } from "../store.ts";
import { createClient, type DriverClient, type DriverSettings } from "./driver.ts";
import { quoted } from "./statements.ts";

export interface WakeupsOptions {
  /** How to reach the server itself, past a pooler. */
  readonly settings: DriverSettings;
  readonly connectMs: number;
  readonly channel: string;
  /** Sends a notification on any connection. */
  readonly notify: (channel: string, payload: string) => Promise<void>;
  /** Time between two tests of a connection that hears. */
  readonly testEveryMs: number;
  /** Time within which a test has to be heard. */
  readonly testWithinMs: number;
}

/** A connection that hears, or the next one. */
interface Hearing {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** Least time between two notifications: many commits share one. */
const gatherMs = 20;

/** Pauses before another connection is tried. */
const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

export class Wakeups {
  readonly #options: WakeupsOptions;
  /** Names this process on the channel, which hears itself too. */
  readonly #self: string = randomBytes(6).toString("hex");
  readonly #listeners: Set<(news: News) => void> = new Set();
  #unsaid: { owed: boolean; arrived: boolean } | undefined;
  #saying: Promise<void> | undefined;
  #hearing: Hearing | undefined;

  constructor(options: WakeupsOptions) {
    this.#options = options;
  }

  /** Tells other processes, soon; several calls may become one notification. */
  say({ owed = false, arrived = false }: Partial<News>): void {
    this.#unsaid = {
      owed: owed || (this.#unsaid?.owed ?? false),
      arrived: arrived || (this.#unsaid?.arrived ?? false),
    };
    this.#saying ??= this.#say();
  }

  /** Calls back when another process said something, until the function that this gives is called. */
  listen(heard: (news: News) => void): () => void {
    this.#listeners.add(heard);
    this.#hearing ??= this.#hear();
    return () => {
      this.#listeners.delete(heard);
      if (this.#listeners.size === 0) void this.#stop();
    };
  }

  /** Says what is unsaid, and ends the connection that hears. */
  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#saying;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const hearing = this.#hearing;
    this.#hearing = undefined;
    hearing?.end();
    await hearing?.ended;
  }

  async #say(): Promise<void> {
    while (this.#unsaid) {
      const topics = Object.entries(this.#unsaid).flatMap(([topic, isNew]) => (isNew ? [topic] : []));
      this.#unsaid = undefined;
      await this.#notify(topics);
      await pause(gatherMs);
    }
    this.#saying = undefined;
  }

  /** A hint that cannot be given is not given. */
  async #notify(topics: readonly string[]): Promise<void> {
    const { channel, notify } = this.#options;
    await notify(channel, [this.#self, ...topics].join(" ")).catch(() => undefined);
  }

  #hear(): Hearing {
    const ending = new AbortController();
    const end = (): void => ending.abort();
    return { ended: this.#hearAgainAndAgain(ending.signal), end };
  }

  async #hearAgainAndAgain(ending: AbortSignal): Promise<void> {
    let isAgain = false;
    for (let pauseMs = firstPauseMs; !ending.aborted; isAgain = true) {
      const wasHeard = await this.#hearOnce(ending, isAgain);
      pauseMs = wasHeard ? firstPauseMs : Math.min(2 * pauseMs, longestPauseMs);
      await pause(pauseMs, ending);
    }
  }

  /** Hears on one connection until it ends or turns deaf; gives whether it ever heard. Never rejects. */
  async #hearOnce(ending: AbortSignal, isAgain: boolean): Promise<boolean> {
    const { settings, connectMs, channel, testEveryMs } = this.#options;
    const client = createClient(settings, { connectMs });
    const gone = new AbortController();
    const stop = (): void => gone.abort();
    client.on("error", stop);
    client.on("end", stop);
    ending.addEventListener("abort", stop);
    let heard = false;
    try {
      await client.connect();
      const tests = this.#onNotifications(client);
      await client.query({ text: `LISTEN ${quoted(channel)}` });
      while (!gone.signal.aborted && (await this.#test(tests, gone.signal))) {
        // What was said meanwhile is made up for; whoever begins to listen looks first anyway.
        if (isAgain && !heard) this.#tell({ owed: true, arrived: true });
        heard = true;
        await pause(testEveryMs, gone.signal);
      }
    } catch {
      // The server is away, or does not let us in; whoever needs it for more will say so.
    }
    ending.removeEventListener("abort", stop);
    client.connection.stream.destroy();
    return heard;
  }

  /** Tells what others say; gives the tests that are waited for, by their word. */
  #onNotifications(client: DriverClient): Map<string, () => void> {
    const tests = new Map<string, () => void>();
    client.on("notification", ({ channel, payload = "" }) => {
      const [from, ...words] = payload.split(" ");
      if (channel !== this.#options.channel) return;
      if (from === this.#self) tests.get(words[0] ?? "")?.();
      else this.#tell({ owed: words.includes("owed"), arrived: words.includes("arrived") });
    });
    return tests;
  }

  async #test(tests: Map<string, () => void>, gone: AbortSignal): Promise<boolean> {
    const word = `test-${randomBytes(6).toString("hex")}`;
    const heard = new AbortController();
    tests.set(word, () => heard.abort());
    await this.#notify([word]);
    await pause(this.#options.testWithinMs, AbortSignal.any([gone, heard.signal]));
    tests.delete(word);
    return heard.signal.aborted;
  }

  #tell(news: News): void {
    if (!news.owed && !news.arrived) return;
    for (const heard of this.#listeners) heard(news);
  }
}

/** Resolves after a time, or once it is cut short; never keeps the process. */
function pause(ms: number, cut?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (cut?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      cut?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    cut?.addEventListener("abort", done);
  });
}
