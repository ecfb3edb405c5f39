/**
 * Providers' own libraries, each by what it says of a delivery: whether it accepts it, and what it would sign,
 * for those that can. They are loaded one by one when asked for, by their shape: their types are large, and
 * nothing but these few functions matters here. Some are of an older version than there is, which is a third
 * as large and verifies the same. A provider that is missing publishes no library that verifies.
 */
import { createRequire } from "node:module";
import { publicUrl } from "./preset-keys.ts";

const require = createRequire(import.meta.url);

/** A delivery as text: every sample is. */
export interface OracleDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a library says; it may also throw over what it refuses. */
export interface SdkOracle {
  readonly accepts: (delivery: OracleDelivery) => unknown;
  /** The headers it would send at this time; a library that only verifies has none. */
  readonly signs?: (
    body: string,
    nowMs: number,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

/** By preset: the library's package, and how it is asked under a secret. */
export const sdkOracles: Readonly<
  Record<string, { readonly sdk: string; readonly open: (secret: string) => SdkOracle }>
> = {
  adyen: { sdk: "@adyen/api-library", open: adyen },
  adyenPlatform: { sdk: "@adyen/api-library", open: adyenPlatform },
  box: { sdk: "box-node-sdk", open: box },
  clerk: { sdk: "@clerk/backend", open: clerk },
  coinbaseCommerce: { sdk: "coinbase-commerce-node", open: coinbaseCommerce },
  easypost: { sdk: "@easypost/api", open: easypost },
  gocardless: { sdk: "gocardless-nodejs", open: gocardless },
  hubspot: { sdk: "@hubspot/api-client", open: hubspot },
  line: { sdk: "@line/bot-sdk", open: line },
  linear: { sdk: "@linear/sdk", open: linear },
  notion: { sdk: "@notionhq/client", open: notion },
  openai: { sdk: "openai", open: openai },
  paddle: { sdk: "@paddle/paddle-node-sdk", open: paddle },
  polar: { sdk: "@polar-sh/sdk", open: polar },
  razorpay: { sdk: "razorpay", open: razorpay },
  resend: { sdk: "resend", open: resend },
  shopify: { sdk: "@shopify/shopify-api", open: shopify },
  slack: { sdk: "@slack/bolt", open: slack },
  slackInteractivity: { sdk: "@slack/bolt", open: slack },
  square: { sdk: "square", open: square },
  svix: { sdk: "svix", open: svix },
  twilio: { sdk: "twilio", open: twilio },
  workos: { sdk: "@workos-inc/node", open: workos },
};

function adyen(secret: string): SdkOracle {
  interface Item {
    readonly NotificationRequestItem: object;
  }
  const { default: Validator } = require("@adyen/api-library/lib/src/utils/hmacValidator.js") as {
    default: new () => { validateHMAC(item: object, key: string): boolean };
  };
  const theirs = new Validator();
  return {
    accepts: ({ body }) => {
      const { notificationItems } = JSON.parse(body) as { readonly notificationItems: readonly Item[] };
      return notificationItems.every((item) => theirs.validateHMAC(item.NotificationRequestItem, secret));
    },
  };
}

function adyenPlatform(secret: string): SdkOracle {
  const { default: Validator } = require("@adyen/api-library/lib/src/utils/hmacValidator.js") as {
    default: new () => {
      validateBankingHMAC(signature: string, key: string, body: string): boolean;
      calculateHmac(body: string, key: string): string;
    };
  };
  const theirs = new Validator();
  return {
    accepts: ({ headers, body }) => theirs.validateBankingHMAC(headers["hmacsignature"] ?? "", secret, body),
    signs: (body) => ({ hmacsignature: theirs.calculateHmac(body, secret) }),
  };
}

function box(secret: string): SdkOracle {
  const theirs = require("box-node-sdk/managers/webhooks") as {
    validateMessage(body: string, headers: object, primaryKey: string): boolean;
  };
  return { accepts: ({ headers, body }) => theirs.validateMessage(body, headers, secret) };
}

function clerk(secret: string): SdkOracle {
  const { verifyWebhook } = require("@clerk/backend/webhooks") as {
    readonly verifyWebhook: (request: Request, options: { readonly signingSecret: string }) => Promise<object>;
  };
  return {
    accepts: ({ headers, body }) =>
      verifyWebhook(new Request(publicUrl, { method: "POST", headers, body }), { signingSecret: secret }),
  };
}

function coinbaseCommerce(secret: string): SdkOracle {
  const theirs = require("coinbase-commerce-node/lib/Webhook.js") as {
    verifySigHeader(body: string, signature: string, secret: string): boolean;
    computeSignature(body: string, secret: string): string;
  };
  return {
    accepts: ({ headers, body }) => theirs.verifySigHeader(body, headers["x-cc-webhook-signature"] ?? "", secret),
    signs: (body) => ({ "x-cc-webhook-signature": theirs.computeSignature(body, secret) }),
  };
}

function easypost(secret: string): SdkOracle {
  const EasyPost = require("@easypost/api") as new (key: string) => {
    readonly Utils: { validateWebhook(body: Buffer, headers: object, secret: string): object };
  };
  const theirs = new EasyPost("unused").Utils;
  return { accepts: ({ headers, body }) => theirs.validateWebhook(Buffer.from(body), headers, secret) };
}

function gocardless(secret: string): SdkOracle {
  const theirs = require("gocardless-nodejs/webhooks") as {
    parse(body: string, secret: string, signature: string): object;
  };
  return { accepts: ({ headers, body }) => theirs.parse(body, secret, headers["webhook-signature"] ?? "") };
}

function hubspot(secret: string): SdkOracle {
  interface Options {
    readonly clientSecret: string;
    readonly url: string;
    readonly requestBody: string;
    readonly timestamp: number;
  }
  const { Signature } = require("@hubspot/api-client/lib/src/utils/signature.js") as {
    Signature: {
      isValid(options: Options & { signatureVersion: string; signature: string }): boolean;
      getSignature(method: string, version: string, options: Options): string;
    };
  };
  const options = (requestBody: string, timestamp: number): Options => ({
    clientSecret: secret,
    url: publicUrl,
    requestBody,
    timestamp,
  });
  return {
    accepts: ({ headers, body }) =>
      Signature.isValid({
        ...options(body, Number(headers["x-hubspot-request-timestamp"])),
        signatureVersion: "v3",
        signature: headers["x-hubspot-signature-v3"] ?? "",
      }),
    signs: (body, nowMs) => ({
      "x-hubspot-request-timestamp": String(nowMs),
      "x-hubspot-signature-v3": Signature.getSignature("POST", "v3", options(body, nowMs)),
    }),
  };
}

function line(secret: string): SdkOracle {
  const { validateSignature } = require("@line/bot-sdk") as {
    readonly validateSignature: (body: string, secret: string, signature: string) => boolean;
  };
  return { accepts: ({ headers, body }) => validateSignature(body, secret, headers["x-line-signature"] ?? "") };
}

function linear(secret: string): SdkOracle {
  const { LinearWebhookClient } = require("@linear/sdk/webhooks") as {
    LinearWebhookClient: new (secret: string) => { verify(body: Buffer, signature: string): boolean };
  };
  const theirs = new LinearWebhookClient(secret);
  return { accepts: ({ headers, body }) => theirs.verify(Buffer.from(body), headers["linear-signature"] ?? "") };
}

function notion(secret: string): SdkOracle {
  const theirs = require("@notionhq/client") as {
    verifyWebhookSignature(given: { body: string; signature: string; verificationToken: string }): Promise<boolean>;
    signWebhookPayload(given: { body: string; verificationToken: string }): Promise<string>;
  };
  return {
    accepts: ({ headers, body }) => {
      const signature = headers["x-notion-signature"] ?? "";
      return theirs.verifyWebhookSignature({ body, signature, verificationToken: secret });
    },
    signs: async (body) => ({
      "x-notion-signature": await theirs.signWebhookPayload({ body, verificationToken: secret }),
    }),
  };
}

function openai(secret: string): SdkOracle {
  const { OpenAI } = require("openai") as {
    OpenAI: new (options: { readonly apiKey: string }) => {
      readonly webhooks: { unwrap(body: string, headers: object, secret: string): Promise<object> };
    };
  };
  const { webhooks } = new OpenAI({ apiKey: "unused" });
  return { accepts: ({ headers, body }) => webhooks.unwrap(body, headers, secret) };
}

function paddle(secret: string): SdkOracle {
  const { Paddle } = require("@paddle/paddle-node-sdk") as {
    Paddle: new (key: string) => {
      readonly webhooks: { isSignatureValid(body: string, secret: string, signature: string): Promise<boolean> };
    };
  };
  const { webhooks } = new Paddle("unused");
  return {
    accepts: ({ headers, body }) => webhooks.isSignatureValid(body, secret, headers["paddle-signature"] ?? ""),
  };
}

function polar(secret: string): SdkOracle {
  const { webhooks } = require("@polar-sh/sdk/2026-10") as {
    webhooks: { validateEvent(body: string, headers: object, secret: string): Promise<object> };
  };
  return { accepts: ({ headers, body }) => webhooks.validateEvent(body, headers, secret) };
}

function razorpay(secret: string): SdkOracle {
  const theirs = require("razorpay/dist/utils/razorpay-utils.js") as {
    validateWebhookSignature(body: string, signature: string, secret: string): boolean;
  };
  return {
    accepts: ({ headers, body }) =>
      theirs.validateWebhookSignature(body, headers["x-razorpay-signature"] ?? "", secret),
  };
}

function resend(secret: string): SdkOracle {
  const { Resend } = require("resend") as {
    Resend: new (key: string) => { readonly webhooks: { verify(given: object): object } };
  };
  const { webhooks } = new Resend("re_unused");
  return {
    accepts: ({ headers, body }) => {
      const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) => headers[`svix-${name}`]);
      return webhooks.verify({ payload: body, headers: { id, timestamp, signature }, webhookSecret: secret });
    },
  };
}

function shopify(secret: string): SdkOracle {
  require("@shopify/shopify-api/adapters/web-api");
  const theirs = require("@shopify/shopify-api") as {
    readonly ApiVersion: Readonly<Record<string, string>>;
    shopifyApi(options: object): {
      readonly webhooks: { validate(given: object): Promise<{ readonly valid: boolean }> };
    };
  };
  const { webhooks } = theirs.shopifyApi({
    apiKey: "unused",
    apiSecretKey: secret,
    hostName: "hooks.example",
    apiVersion: Object.values(theirs.ApiVersion)[0],
    isEmbeddedApp: false,
    logger: { level: 0 },
  });
  // Its own check asks for headers that say nothing about the signature.
  const others = {
    "x-shopify-api-version": "2026-01",
    "x-shopify-webhook-id": "1",
    "x-shopify-shop-domain": "a.example",
  };
  return {
    accepts: async ({ headers, body }) => {
      const rawRequest = new Request(publicUrl, { method: "POST", headers: { ...others, ...headers }, body });
      return (await webhooks.validate({ rawBody: body, rawRequest })).valid;
    },
  };
}

function slack(secret: string): SdkOracle {
  const { isValidSlackRequest } = require("@slack/bolt/dist/receivers/verify-request.js") as {
    readonly isValidSlackRequest: (given: object) => boolean;
  };
  return {
    accepts: ({ headers, body }) => {
      const signed = { ...headers, "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]) };
      return isValidSlackRequest({ signingSecret: secret, body, headers: signed });
    },
  };
}

function square(secret: string): SdkOracle {
  const { WebhooksHelper } = require("square/dist/cjs/utilities/webhooksHelper.js") as {
    WebhooksHelper: {
      isValidWebhookEventSignature(body: string, signature: string, key: string, url: string): boolean;
    };
  };
  return {
    accepts: ({ headers, body }) => {
      const signature = headers["x-square-hmacsha256-signature"] ?? "";
      return WebhooksHelper.isValidWebhookEventSignature(body, signature, secret, publicUrl);
    },
  };
}

function svix(secret: string): SdkOracle {
  const { Webhook } = require("svix") as {
    Webhook: new (secret: string) => {
      verify(body: string, headers: object): unknown;
      sign(id: string, at: Date, body: string): string;
    };
  };
  const theirs = new Webhook(secret);
  return {
    accepts: ({ headers, body }) => theirs.verify(body, headers),
    signs: (body, nowMs) => ({
      "svix-id": "msg_2",
      "svix-timestamp": String(nowMs / 1_000),
      "svix-signature": theirs.sign("msg_2", new Date(nowMs), body),
    }),
  };
}

function twilio(secret: string): SdkOracle {
  const theirs = require("twilio/lib/webhooks/webhooks.js") as {
    validateRequest(secret: string, signature: string, url: string, fields: object): boolean;
    getExpectedTwilioSignature(secret: string, url: string, fields: object): string;
  };
  const fieldsOf = (body: string): object => Object.fromEntries(new URLSearchParams(body));
  return {
    accepts: ({ headers, body }) =>
      theirs.validateRequest(secret, headers["x-twilio-signature"] ?? "", publicUrl, fieldsOf(body)),
    signs: (body) => ({
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": theirs.getExpectedTwilioSignature(secret, publicUrl, fieldsOf(body)),
    }),
  };
}

function workos(secret: string): SdkOracle {
  const { WorkOS } = require("@workos-inc/node") as {
    WorkOS: new (key: string) => {
      readonly webhooks: {
        verifyHeader(given: object): Promise<boolean>;
        computeSignature(timestamp: number, body: string, secret: string): Promise<string>;
      };
    };
  };
  const { webhooks } = new WorkOS("unused");
  return {
    accepts: ({ headers, body }) =>
      webhooks.verifyHeader({ payload: body, sigHeader: headers["workos-signature"], secret }),
    signs: async (body, nowMs) => ({
      "workos-signature": `t=${nowMs}, v1=${await webhooks.computeSignature(nowMs, body, secret)}`,
    }),
  };
}
