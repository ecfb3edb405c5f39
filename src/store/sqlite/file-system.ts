/**
 * Which file systems are known not to keep SQLite's promises: locks and shared memory of WAL mode work
 * between processes of one machine only, and a file system served from elsewhere may be on two.
 */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { CounterfoilError } from "../../domain/errors.ts";

/** Magic numbers of statfs(2). FUSE stands for sshfs, s3fs, virtiofs and other unknowns. */
const networkTypes: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB2",
  0x01021997: "9p",
  0x65735546: "FUSE or virtiofs",
  0x5346414f: "AFS",
  0x73757245: "Coda",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x01161970: "GFS2",
  0x7461636f: "OCFS2",
  0x19830326: "BeeGFS",
  0x47504653: "GPFS",
  0x786f4256: "VirtualBox shared folder",
  0xbacbacbc: "VMware shared folder",
};

/** The name of a network file system, or `undefined` for one that is not known as such. */
export function networkFileSystem(type: number): string | undefined {
  return networkTypes[type >>> 0];
}

/**
 * Refuses a database file on a network file system. Only Linux says what a file system is; elsewhere
 * nothing is refused.
 *
 * @throws CounterfoilError STORE_UNSUPPORTED.
 */
export function assertLocalFile(path: string, typeOf: (folder: string) => number = fileSystemType): void {
  const name = networkFileSystem(typeOf(dirname(path)));
  if (name === undefined) return;
  throw new CounterfoilError(
    "STORE_UNSUPPORTED",
    `Cannot open ${path}: it is on a network file system (${name}), where SQLite can lose data; move it to a local ` +
      "disk, use PostgreSQL, or set allowNetworkFileSystem if only one machine ever opens it and its locks work",
  );
}

function fileSystemType(folder: string): number {
  if (process.platform !== "linux") return 0;
  try {
    return statfsSync(folder).type;
  } catch {
    // A folder that is not there is reported by opening the file, with a better message.
    return 0;
  }
}
