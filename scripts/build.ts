/** Builds dist/ from src/: compiled by tsc, with the files that are not TypeScript (migrations, assets) beside it. */
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { extname } from "node:path";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
if (status !== 0) process.exit(1);
cpSync("src", "dist", { recursive: true, filter: (path) => extname(path) !== ".ts" });
