/** Why a connection's secrets cannot be used. */
export type SecretCause = "none" | "too_many" | "blank" | "placeholder" | "too_short" | "undecodable";

/** A problem with a connection's secrets; the message names positions, never content. */
export interface SecretProblem {
  readonly kind: "unusable";
  readonly cause: SecretCause;
  readonly message: string;
}

const secretsMax = 16;
export const secretBytesMin = 8;

/** What templates, shells and unset variables leave behind, where a secret should be. */
const placeholders = new Set(
  (
    "undefined null none nan true false secret password placeholder example todo test " +
    "changeme change-me change_me replaceme replace-me replace_me " +
    "your-secret your_secret yoursecret your-webhook-secret your_webhook_secret"
  ).split(" "),
);
const templates = /^(?:<.*>|\[object object\]|\$\{.*\}|\{\{.*\}\}|(?:whsec_)?(.)\1*|whsec_(?:\.{3}|…)?)$/u;

/**
 * Checks what the configuration gives as secrets. `undefined` entries are skipped, so that the second
 * secret of a rotation can be an environment variable that is not always set.
 *
 * An empty key would let anyone sign, so there must be one left, and none may be blank, a placeholder
 * or shorter than 8 bytes.
 *
 * @example
 * ```ts
 * checkSecrets([undefined, "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH"]).kind; // "usable"
 * checkSecrets(["changeme"]).kind; // "unusable"
 * ```
 */
export function checkSecrets(
  secrets: readonly (string | undefined)[],
): { readonly kind: "usable"; readonly secrets: readonly string[] } | SecretProblem {
  const given = secrets.filter((secret) => secret !== undefined);
  if (given.length === 0) return unusable("none", "Cannot use secrets: none is set; set the provider's signing secret");
  if (given.length > secretsMax) {
    return unusable("too_many", `Cannot use ${given.length} secrets: at most ${secretsMax} are tried; remove old ones`);
  }
  for (const [index, secret] of secrets.entries()) {
    const problem = secret === undefined ? undefined : secretProblem(secret, index + 1);
    if (problem !== undefined) return problem;
  }
  return { kind: "usable", secrets: given };
}

function secretProblem(secret: string, position: number): SecretProblem | undefined {
  const text = secret.trim().toLowerCase();
  const cannot = `Cannot use secret ${position}`;
  if (text === "") return unusable("blank", `${cannot}: it is blank; set the provider's signing secret`);
  if (placeholders.has(text) || templates.test(text)) {
    return unusable("placeholder", `${cannot}: it is a placeholder; set the provider's signing secret`);
  }
  const bytes = Buffer.byteLength(secret);
  if (bytes >= secretBytesMin) return undefined;
  return unusable("too_short", `${cannot}: it has ${bytes} bytes, needed are ${secretBytesMin}; set a longer one`);
}

export function unusable(cause: SecretCause, message: string): SecretProblem {
  return { kind: "unusable", cause, message };
}
