const months: readonly string[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const time = String.raw`(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)`;

/** The three forms of HTTP-date that a recipient must read: IMF-fixdate, RFC 850, asctime. */
const dateForms: readonly RegExp[] = [
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) ${time} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${time} (?<year>\d{4})$`),
];

/**
 * Reads a Retry-After header: how long from `wallNowMs` the provider asks to be left alone.
 *
 * Gives `undefined` for what asks for nothing (no header, `0`, a date that has passed) and for what
 * cannot be trusted (two headers, a sign, a fraction, an exponent, an impossible date), so that such a
 * value falls back to backoff instead of becoming a hot loop. The result has no upper bound: the
 * caller clips it. Source: RFC 9110, sections 10.2.3 and 5.6.7.
 *
 * @example
 * ```ts
 * retryAfterMs(["120"], 0); // 120000
 * retryAfterMs(["Thu, 01 Jan 1970 00:01:00 GMT"], 0); // 60000
 * retryAfterMs(["0"], 0); // undefined
 * ```
 */
export function retryAfterMs(values: readonly string[] | undefined, wallNowMs: number): number | undefined {
  const value = values?.length === 1 ? values[0] : undefined;
  if (value === undefined) return undefined;
  // Digits too many for a number still ask for "very long", which the caller's bound then cuts.
  const delayMs = /^\d+$/.test(value)
    ? Math.min(Number(value) * 1_000, Number.MAX_SAFE_INTEGER)
    : httpDateMs(value, wallNowMs) - wallNowMs;
  return delayMs > 0 ? delayMs : undefined;
}

/** The instant of an HTTP-date, or NaN. */
function httpDateMs(text: string, wallNowMs: number): number {
  const fields = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (fields === undefined) return Number.NaN;
  const number = (name: string): number => Number(fields[name]);
  const month = months.indexOf(fields["month"] ?? "");
  const year = fields["year"]?.length === 2 ? fullYear(number("year"), wallNowMs) : number("year");
  const instant = Date.UTC(year, month, number("day"), number("hour"), number("minute"), number("second"));
  // Date.UTC rolls 31 February over into March, and month -1 back into the year before.
  const midnight = new Date(Date.UTC(year, month, number("day")));
  return midnight.getUTCMonth() === month ? instant : Number.NaN;
}

/** A two-digit year that seems more than 50 years ahead is of the century before. Source: RFC 9110, section 5.6.7. */
function fullYear(twoDigits: number, wallNowMs: number): number {
  const thisYear = new Date(wallNowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
