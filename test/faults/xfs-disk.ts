/**
 * A disk of its own for a test, whose power can be cut: an XFS image on a loop device. A shutdown without
 * a flush of the log leaves on it what was synced, and forgets the rest. XFS, because ext4 writes more
 * than it was asked to and would hide what is missing.
 */
import { execFileSync } from "node:child_process";
import { accessSync, chmodSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** What a script ends with that could not run here, as automake has it. */
export const skippedCode = 77;

/** The least that mkfs.xfs takes is 300 MiB; the image has holes where nothing was written. */
const imageBytes = 640 * 1024 * 1024;

export class XfsDisk implements Disposable {
  /** Where it is mounted. */
  readonly path: string;
  readonly #folder: string;
  /** Also when the process ends before its test does. */
  readonly #leave = (): void => {
    run("umount", "--lazy", this.path);
    rmSync(this.#folder, { recursive: true });
  };

  /** @throws Error where no such disk can be made, with the reason. */
  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), "counterfoil-disk-"));
    this.path = join(this.#folder, "disk");
    try {
      // Servers on it do not run as root.
      chmodSync(this.#folder, 0o755);
      mkdirSync(this.path);
      writeFileSync(this.#image, "");
      truncateSync(this.#image, imageBytes);
      run("mkfs.xfs", "-q", this.#image);
      this.#mount();
      process.once("exit", this.#leave);
    } catch (error) {
      rmSync(this.#folder, { recursive: true });
      throw error;
    }
  }

  get #image(): string {
    return join(this.#folder, "image");
  }

  /** What was written so far is on the disk. */
  sync(): void {
    run("sync", "-f", this.path);
  }

  /** From now on nothing reaches the disk, and whoever tries is told of an I/O error. */
  cut(): void {
    run("xfs_io", "-x", "-c", "shutdown", this.path);
  }

  /** The power is back. Nobody may have a file open on the disk. */
  restore(): void {
    run("umount", this.path);
    this.#mount();
  }

  [Symbol.dispose](): void {
    process.off("exit", this.#leave);
    this.#leave();
  }

  #mount(): void {
    run("mount", "-o", "loop", this.#image, this.path);
  }
}

/** Why this cannot run here, or `undefined` where it can. */
export function reasonToSkip(tools: readonly string[]): string | undefined {
  if (process.platform !== "linux") return "it takes Linux";
  if (process.getuid?.() !== 0) return "it takes root, to mount a disk of its own";
  const missing = tools.filter((tool) => !isInstalled(tool));
  if (missing.length > 0) return `it takes ${missing.join(" and ")}: apt-get install xfsprogs strace`;
  try {
    new XfsDisk()[Symbol.dispose]();
    return undefined;
  } catch (error) {
    return `no XFS image can be mounted: ${error instanceof Error ? error.message.trim() : String(error)}`;
  }
}

function isInstalled(tool: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, tool));
      return true;
    } catch {
      return false;
    }
  });
}

function run(tool: string, ...flags: readonly string[]): void {
  const path = [process.env["PATH"], "/usr/sbin", "/sbin"].join(delimiter);
  execFileSync(tool, flags, { env: { ...process.env, PATH: path }, stdio: ["ignore", "ignore", "pipe"] });
}
