import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { siblingModule } from "../../domain/sibling-module.ts";

/** Has a file's log copied by another thread, which is started when there is first something to copy. */
export class LogCopier {
  readonly #path: string;
  #thread: Worker | undefined;
  #isCopying = false;

  constructor(path: string) {
    this.#path = path;
  }

  get isCopying(): boolean {
    return this.#isCopying;
  }

  /** Copies what can be copied beside the commits that go on meanwhile. Never rejects. */
  async copy(): Promise<void> {
    this.#isCopying = true;
    try {
      const thread = (this.#thread ??= started());
      thread.postMessage(this.#path);
      await once(thread, "message");
    } catch {
      // A thread that cannot run is tried anew next time; until then the log is copied between commits.
      this.#thread = undefined;
    } finally {
      this.#isCopying = false;
    }
  }

  /** Ends the thread; a copy under way ends with it. */
  async stop(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}

function started(): Worker {
  const thread = new Worker(siblingModule(import.meta.url, "copy-thread"), { name: "counterfoil-log" });
  // Waiting for the next copy keeps no process alive.
  thread.unref();
  return thread;
}
