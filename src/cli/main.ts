#!/usr/bin/env node
/**
 * The command line's entry. It imports nothing before it has looked at Node's version: what is older
 * cannot even load the rest, and would say so in words that help nobody.
 */
const [major = 0] = process.versions.node.split(".").map(Number);

if (major < 24) {
  console.error(`Cannot start: Counterfoil needs Node 24 or newer, this is ${process.versions.node}; install Node 24`);
  process.exitCode = 2;
} else {
  const { run } = await import("./run.ts");
  await run(process.argv.slice(2));
}
