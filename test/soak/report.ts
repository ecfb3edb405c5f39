import type { SoakReport } from "./soak.ts";

/** Prints the figures and the verdict; gives the exit code. */
export function report({ problems, ...figures }: SoakReport, seed: string): number {
  console.log(JSON.stringify(figures, null, 2));
  for (const problem of problems) console.log(problem);
  if (figures.breaches.length > 0) console.log(`${figures.breaches.length} effects were doubled by the courier itself`);
  console.log(problems.length === 0 ? "PASS" : `FAIL: ${problems.length} problems, seed ${seed}`);
  return problems.length === 0 ? 0 : 1;
}
