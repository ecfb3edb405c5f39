/**
 * Counters, gauges and histograms in memory, with their Prometheus text.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
 */
export type Labels = Readonly<Record<string, string | number | boolean>>;

export interface SeriesOptions {
  readonly name: string;
  readonly help: string;
}

/** Sets of label values that one metric keeps; later ones share a series of their own, so that senders cannot fill memory. */
const seriesMax = 1_000;
const overflow = 'overflow="true"';

/** A number per set of labels. */
export class NumberSeries {
  readonly #options: SeriesOptions & { readonly type: "counter" | "gauge" };
  readonly #values: Map<string, number> = new Map();

  constructor(options: SeriesOptions & { readonly type: "counter" | "gauge" }) {
    this.#options = options;
  }

  add(labels: Labels, by = 1): void {
    const key = this.#key(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + by);
  }

  set(labels: Labels, value: number): void {
    this.#values.set(this.#key(labels), value);
  }

  /** Its lines, each ended; nothing when it has no value yet. */
  text(): string {
    if (this.#values.size === 0) return "";
    const samples = [...this.#values].map(([labels, value]) => sample(this.#options.name, labels, value));
    return header(this.#options) + samples.join("");
  }

  #key(labels: Labels): string {
    const key = labelText(labels);
    return this.#values.has(key) || this.#values.size < seriesMax ? key : overflow;
  }
}

/** How values spread over fixed bounds. Without labels: one per metric. */
export class Histogram {
  readonly #options: SeriesOptions;
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor({ bounds, ...options }: SeriesOptions & { readonly bounds: readonly number[] }) {
    this.#options = options;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    const index = this.#bounds.findIndex((bound) => value <= bound);
    if (index !== -1) this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** Its lines, each ended; buckets count everything at or below their bound. */
  text(): string {
    const { name } = this.#options;
    let below = 0;
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0;
      return sample(`${name}_bucket`, `le="${bound}"`, below);
    });
    const rest = [sample(`${name}_bucket`, 'le="+Inf"', this.#count), sample(`${name}_sum`, "", this.#sum)];
    return [
      header({ ...this.#options, type: "histogram" }),
      ...buckets,
      ...rest,
      sample(`${name}_count`, "", this.#count),
    ].join("");
  }
}

function header({ name, help, type }: SeriesOptions & { readonly type: string }): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
    .join(",");
}

/** The format has escapes for three characters; other control characters have no place in a label at all. */
function escapeLabel(value: string): string {
  return value
    .slice(0, 256)
    .replaceAll("\\", String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll("\n", String.raw`\n`)
    .replaceAll(/\p{Cc}/gu, "?");
}
