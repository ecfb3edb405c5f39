import { adyen, adyenPlatform } from "./adyen.ts";
import { asana } from "./asana.ts";
import { bigcommerce } from "./bigcommerce.ts";
import { bitbucket } from "./bitbucket.ts";
import { box } from "./box.ts";
import { calendly } from "./calendly.ts";
import { clerk } from "./clerk.ts";
import { coinbaseCommerce } from "./coinbase-commerce.ts";
import { discord, discordInteractions } from "./discord.ts";
import { docusign } from "./docusign.ts";
import { dropbox } from "./dropbox.ts";
import { easypost } from "./easypost.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { gocardless } from "./gocardless.ts";
import { hubspot } from "./hubspot.ts";
import { intercom } from "./intercom.ts";
import { jira } from "./jira.ts";
import { lemonSqueezy } from "./lemon-squeezy.ts";
import { line } from "./line.ts";
import { linear } from "./linear.ts";
import { mailgun } from "./mailgun.ts";
import { meta } from "./meta.ts";
import { mollie, mollieClassic } from "./mollie.ts";
import { msgraph } from "./msgraph.ts";
import { notion } from "./notion.ts";
import { openai } from "./openai.ts";
import { paddle } from "./paddle.ts";
import { paypal } from "./paypal.ts";
import { plaid } from "./plaid.ts";
import { polar } from "./polar.ts";
import type { ProviderData } from "./provider.ts";
import { quickbooks, quickbooksEvents } from "./quickbooks.ts";
import { razorpay } from "./razorpay.ts";
import { resend } from "./resend.ts";
import { sendgrid } from "./sendgrid.ts";
import { shopify } from "./shopify.ts";
import { slack, slackInteractivity } from "./slack.ts";
import { square } from "./square.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { svix } from "./svix.ts";
import { telegram } from "./telegram.ts";
import { trello } from "./trello.ts";
import { twilio } from "./twilio.ts";
import { typeform } from "./typeform.ts";
import { vercel } from "./vercel.ts";
import { woocommerce } from "./woocommerce.ts";
import { workos } from "./workos.ts";
import { xero } from "./xero.ts";
import { zendesk } from "./zendesk.ts";
import { zoom } from "./zoom.ts";

/** Every preset, by the name under which `counterfoil/providers` exports it. */
export const catalogue: Readonly<Record<string, ProviderData>> = {
  adyen,
  adyenPlatform,
  asana,
  bigcommerce,
  bitbucket,
  box,
  calendly,
  clerk,
  coinbaseCommerce,
  discord,
  discordInteractions,
  docusign,
  dropbox,
  easypost,
  github,
  gitlab,
  gocardless,
  hubspot,
  intercom,
  jira,
  lemonSqueezy,
  line,
  linear,
  mailgun,
  meta,
  mollie,
  mollieClassic,
  msgraph,
  notion,
  openai,
  paddle,
  paypal,
  plaid,
  polar,
  quickbooks,
  quickbooksEvents,
  razorpay,
  resend,
  sendgrid,
  shopify,
  slack,
  slackInteractivity,
  square,
  standardWebhooks,
  stripe,
  svix,
  telegram,
  trello,
  twilio,
  typeform,
  vercel,
  woocommerce,
  workos,
  xero,
  zendesk,
  zoom,
};
