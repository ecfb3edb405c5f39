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

  /**
   * Copies what can be copied beside the commits that go on meanwhile; gives `false` where the thread could
   * not be started, or was ended. Never rejects.
   */
  async copy(): Promise<boolean> {
    this.#isCopying = true;
    try {
      return await copied((this.#thread ??= this.#started()), this.#path);
    } catch {
      // A thread that cannot be started is tried anew next time; until then the log is copied between commits.
      return false;
    } finally {
      this.#isCopying = false;
    }
  }

  /** Ends the thread; a copy under way ends with it. */
  async stop(): Promise<void> {
    await this.#thread?.terminate();
  }

  #started(): Worker {
    const thread = new Worker(siblingModule(import.meta.url, "copy-thread"), { name: "counterfoil-log" });
    // Its end follows, after which the next copy starts another one.
    thread.on("error", () => undefined);
    thread.once("exit", () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    // Waiting for the next copy keeps no process alive.
    thread.unref();
    return thread;
  }
}

/** Whether the thread has copied: one that is ended says nothing any more. */
function copied(thread: Worker, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isCopied: boolean): void => {
      thread.off("message", onMessage).off("exit", onExit);
      resolve(isCopied);
    };
    const onMessage = (): void => end(true);
    const onExit = (): void => end(false);
    thread.on("message", onMessage).on("exit", onExit);
    thread.postMessage(path);
  });
}
