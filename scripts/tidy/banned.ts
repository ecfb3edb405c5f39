import { type Finding, isShipped, matchesByLine, type TextFile, withoutCommentLines } from "./file.ts";

interface Ban {
  readonly pattern: RegExp;
  readonly say: string;
  readonly applies: (path: string) => boolean;
}

/** Tests and their kit, but for the one that shows these very calls to the rules. */
const isTest = (path: string): boolean =>
  /\.(?:test|conformance)\.ts$|^test\/.*\.ts$/u.test(path) && path !== "scripts/tidy.test.ts";
/** The kit runs against real processes and a real clock; everything else that ships takes time as an argument. */
const takesClock = (path: string): boolean =>
  isShipped(path) && !/^src\/(?:telemetry|testing)\/|\/system-clock\.ts$/u.test(path);
/** Locks of other processes, sockets and people are waited for in real time: no clock of a test moves them. */
const waitsByClock = (path: string): boolean =>
  takesClock(path) && !/^src\/(?:(?:cli|http|store\/(?:sqlite|postgres))\/|store\/turn\.ts)/u.test(path);

/** Calls that work and are still wrong here, each with what to write instead. */
const bans: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/gu,
    say: "read the injected Clock: tests move it",
    applies: takesClock,
  },
  {
    pattern: /\b(?:setTimeout|setInterval|performance\.now)\(|\bprocess\.hrtime\b|"node:timers(?:\/promises)?"/gu,
    say: "use the injected Clock and its timer: tests move it, and it never keeps a process alive",
    applies: waitsByClock,
  },
  {
    pattern: /\bMath\.random\b/gu,
    say: "take the injected Random: a test repeats a run from its seed",
    applies: (path) => isShipped(path) && !path.endsWith("/random.ts"),
  },
  {
    // One millisecond is a turn of the timers, which a test may need as its subject.
    pattern: /\b(?:sleep|delay|wait|setTimeout)\((?:resolve, *|done, *)?(?:\d[\d_]+|\w+Ms\b)/gu,
    say: "do not sleep in a test: poll a condition with eventually(), or move the virtual clock",
    applies: isTest,
  },
  {
    pattern: /^\s+(?:private|protected)\s+(?:readonly\s+|static\s+|async\s+)*(?!constructor)\w+\s*[(:=?;]/gmu,
    say: "use a #private member: it is private at run time too",
    applies: (path) => path.endsWith(".ts"),
  },
  {
    pattern: /^(?:export )?const \w+ = (?:async )?(?:<[^>\n]*>)?\([^)\n]*\)(?:: [^=\n]+)? =>/gmu,
    say: "write a function declaration: it reads top down and names itself in stacks",
    applies: isShipped,
  },
];

/** The formatter sorts imports and takes along a header that stands on one, unless a line is free between them. */
export function checkHeader({ path, text }: TextFile): readonly Finding[] {
  if (!path.endsWith(".ts")) return [];
  return matchesByLine(text, /(?<=^import [^;]*;\n)\/\*\*(?:(?!\*\/).)*\*\/(?=\nimport )/gmsu).map(({ line }) => ({
    path,
    line,
    say: "the module's header stands among its imports: move it above them, and leave a line free below it",
  }));
}

export function checkBanned({ path, text }: TextFile): readonly Finding[] {
  const active = bans.filter(({ applies }) => applies(path));
  if (active.length === 0) return [];
  const code = withoutCommentLines(text);
  return active.flatMap(({ pattern, say }) =>
    matchesByLine(code, pattern).map(({ line, match }) => ({ path, line, say: `${match[0].trim()}: ${say}` })),
  );
}

/** Words that no file may carry. The patterns are spelled so that they do not match themselves. */
const leftovers: readonly { readonly pattern: RegExp; readonly say: string }[] = [
  { pattern: /\b(?:FIX[M]E|TOD[O]|XX[X])\b/gu, say: "do it, or open an issue and remove the note" },
  {
    pattern: /(?<![\w.-])\/(?:work|root|farm)\/|\.\.\/shared\b/gu,
    say: "this path exists on one machine only: say it relative to the repository",
  },
  { pattern: /\bregistry\.npmj[s]\.org/gu, say: "name no registry: npm's own settings choose it" },
];

export function checkLeftovers({ path, text }: TextFile): readonly Finding[] {
  return leftovers.flatMap(({ pattern, say }) =>
    matchesByLine(text, pattern).map(({ line, match }) => ({ path, line, say: `"${match[0]}": ${say}` })),
  );
}
