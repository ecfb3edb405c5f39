/** Whom an application tells of what needs a person: its own function, or a URL. */
import type { Clock } from "../domain/clock.ts";
import { sha256 } from "../domain/digest.ts";
import type { Attention } from "../operator/attention.ts";
import { attentionKey, describeAttention } from "../operator/describe-attention.ts";
import { signDelivery } from "../providers/sample-delivery.ts";
import { standardWebhooks } from "../providers/standard-webhooks.ts";
import { openKeyring } from "../verify/keyring.ts";

type Tell = (items: readonly Attention[]) => void | Promise<void>;

/** A receiver of Standard Webhooks of yours: a chat's gateway, a pager's, another Counterfoil. */
export interface AttentionUrl {
  readonly url: string;
  /** Signs each message, such as `whsec_...`; where it is missing, the application cannot be served. */
  readonly secret: string | undefined;
}

/**
 * A function that is given new things, some at a time, or a URL. A function that throws, and a URL that
 * does not answer with 2xx, are tried again.
 */
export type OnAttention = Tell | AttentionUrl;

interface Listener {
  readonly tell: Tell | null;
  readonly problems: readonly string[];
}

const postMs = 10_000;

/** Makes a listener ready, and says why it cannot be told, where it cannot. */
export function listenerOf(given: OnAttention | undefined, clock: Clock): Listener {
  if (given === undefined) return { tell: null, problems: [] };
  if (typeof given === "function") return { tell: given, problems: [] };
  const { url, secret } = given;
  const unusable = (problem: string): Listener => ({ tell: null, problems: [`Cannot tell onAttention: ${problem}`] });
  if (!["http:", "https:"].includes(URL.parse(url)?.protocol ?? "")) {
    return unusable("its url is no http or https URL; write such as https://hooks.example/counterfoil");
  }
  const keyring = openKeyring(standardWebhooks.rules.schemes, [secret]);
  if (keyring.kind === "unusable" || secret === undefined) {
    return unusable(keyring.kind === "unusable" ? keyring.message : "it has no secret");
  }
  return { tell: (items) => post({ url, secret, timestampMs: clock.wallMs() }, items), problems: [] };
}

async function post(
  { url, secret, timestampMs }: { readonly url: string; readonly secret: string; readonly timestampMs: number },
  items: readonly Attention[],
): Promise<void> {
  const message = { type: "counterfoil.attention", items: items.map(describeAttention) };
  const { headers, body } = signDelivery(standardWebhooks.rules, secret, {
    // The same things told again are the same message, for receivers that look.
    headers: { "webhook-id": `attention-${sha256(JSON.stringify(items.map(attentionKey))).slice(0, 32)}` },
    body: Buffer.from(JSON.stringify(message)),
    timestampMs,
  });
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: Buffer.from(body),
    redirect: "manual",
    signal: AbortSignal.timeout(postMs),
  });
  await response.body?.cancel();
  if (response.ok) return;
  throw new Error(`Cannot tell of what needs you: the URL of onAttention answers ${response.status}`);
}
