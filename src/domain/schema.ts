/**
 * The part of Standard Schema v1 that Counterfoil reads; any library that follows it fits (valibot,
 * zod, arktype). Source: https://standardschema.dev
 */
export interface Schema<out T> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** What a schema said of a value: the value it made of it, or where it did not fit. */
export type Checked<T> =
  | { readonly fits: true; readonly value: T }
  | { readonly fits: false; readonly issues: readonly string[] };

/**
 * Names a type where no run-time check is wanted.
 *
 * @example
 * ```ts
 * const input = type<{ order: string }>();
 * ```
 */
export function type<T>(): Schema<T> {
  return { "~standard": { version: 1, vendor: "counterfoil", validate: (value: unknown) => ({ value }) } };
}

interface StandardResult {
  readonly value?: unknown;
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[];
}

/**
 * Checks a value against a schema. Issues name the path and the rule, never the value.
 *
 * @throws TypeError when the schema answers with a promise: a check runs inside a transaction, where nothing may wait.
 */
export function check<T>(schema: Schema<T>, value: unknown): Checked<T> {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    throw new TypeError(
      `Cannot check a value: the ${schema["~standard"].vendor} schema is asynchronous; use a synchronous one`,
    );
  }
  const { issues, value: output } = result as StandardResult;
  if (issues === undefined) return { fits: true, value: output as T };
  return { fits: false, issues: issues.map(({ path }) => `does not fit at "${pathText(path)}"`) };
}

const segmentsMax = 8;

/** Where a value does not fit. A step may be a key of the sender's choosing: what is no plain name is not repeated. */
function pathText(path: readonly unknown[] = []): string {
  const steps = path
    .map((step) => (typeof step === "object" && step !== null && "key" in step ? step.key : step))
    .map((step) => (/^[A-Za-z_]\w{0,39}$|^\d{1,6}$/.test(String(step)) ? String(step) : "*"));
  return steps.length > segmentsMax ? `${steps.slice(0, segmentsMax).join(".")}...` : steps.join(".");
}
