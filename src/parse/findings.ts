import type { PlanNode } from "./body-plan.ts";

/** A number of at most this many characters and without an exponent is finite, and exact if an integer. */
const charactersSafe = 15;

/** What a scan found about the nodes of its plan. Spans are [start, end) in the text. */
export class Findings {
  tooDeep = false;
  /** A number too large for a double, such as 1e400. */
  nonFinite = false;
  /** An integer beyond 2^53, which a double cannot hold exactly. */
  inexactIntegers = false;
  /** Starts and ends of volatile values, in the order of the text. */
  readonly cuts: number[] = [];
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #keys = new Set<PlanNode>();
  readonly #repeated = new Set<PlanNode>();

  constructor(size: number) {
    this.#starts = new Int32Array(size);
    this.#ends = new Int32Array(size);
  }

  /** A key came; the second time it is ambiguous, and so is everything below it. */
  meetKey(node: PlanNode): void {
    if (this.#keys.has(node)) this.#repeat(node);
    else this.#keys.add(node);
  }

  meetValue(node: PlanNode, start: number, end: number): void {
    this.#starts[node.index] = start;
    this.#ends[node.index] = end;
    if (!node.volatile) return;
    // A volatile value inside this one ended earlier; the outer cut takes it along.
    while ((this.cuts.at(-2) ?? 0) > start) this.cuts.length -= 2;
    this.cuts.push(start, end);
  }

  meetNumber(text: string, start: number, end: number): void {
    const digits = text.slice(start, end);
    const isInteger = !/[.eE]/.test(digits);
    if (isInteger && digits.length <= charactersSafe) return;
    const value = Number(digits);
    this.nonFinite ||= !Number.isFinite(value);
    this.inexactIntegers ||= isInteger && !Number.isSafeInteger(value);
  }

  stopTooDeep(): this {
    this.tooDeep = true;
    return this;
  }

  isRepeated(node: PlanNode): boolean {
    return this.#repeated.has(node);
  }

  /** Where the last value met at a node begins and ends. */
  spanOf(node: PlanNode): readonly [start: number, end: number] {
    return [this.#starts[node.index] ?? 0, this.#ends[node.index] ?? 0];
  }

  /** The last value met at a node, as it stands in the text. */
  textAt(node: PlanNode, text: string): string {
    return text.slice(...this.spanOf(node));
  }

  #repeat(node: PlanNode): void {
    this.#repeated.add(node);
    for (const child of node.children.values()) this.#repeat(child);
  }
}
