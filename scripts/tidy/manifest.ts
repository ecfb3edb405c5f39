import { type Finding, matchesByLine, type TextFile } from "./file.ts";

/** Every dependency is pinned to one version, so that two installs a year apart are the same. */
export function checkPins({ path, text }: TextFile): readonly Finding[] {
  if (path.split("/").at(-1) !== "package.json") return [];
  const manifest = JSON.parse(text) as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
  return ["dependencies", "devDependencies", "optionalDependencies", "overrides"].flatMap((field) =>
    Object.entries(manifest[field] ?? {}).flatMap(([name, version]) => {
      if (typeof version === "string" && /^\d+\.\d+\.\d+(?:-[\w.]+)?$/u.test(version)) return [];
      const line = text.slice(0, text.indexOf(`"${name}"`, text.indexOf(`"${field}"`))).split("\n").length;
      return [{ path, line, say: `${name} is "${String(version)}": pin one exact version` }];
    }),
  );
}

/** The page and the table in code list the same error codes, in the same order. */
export function checkErrorPage({ path, text }: TextFile, codes: readonly string[]): readonly Finding[] {
  const rows = matchesByLine(text, /^\| `([A-Z_]+)`/gmu).map(({ line, match }) => ({ line, code: match[1] ?? "" }));
  const wrong = rows.find(({ code }, index) => code !== codes[index]);
  if (wrong !== undefined) {
    const expected = codes[rows.indexOf(wrong)] ?? "the end of the table";
    return [{ path, line: wrong.line, say: `${wrong.code} stands where the code's table has ${expected}` }];
  }
  return codes
    .slice(rows.length)
    .map((code) => ({ path, line: rows.at(-1)?.line ?? 1, say: `${code} is not explained` }));
}
