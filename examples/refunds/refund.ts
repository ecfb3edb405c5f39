/** Refunds by Stripe's SDK, each once: also when its answer was lost, or the process died in the middle. */
import { type Effect, sendEffect, type SendContext, type Sending, type } from "counterfoil";
import { Stripe } from "stripe";

/** What a refund is owed for. An alias rather than an interface, since JSON values have an index signature. */
export type Refund = { readonly paymentIntent: string; readonly amount: number };

type Answer = { readonly id: string };

/**
 * The effect, for an SDK that is told not to try again by itself (`maxNetworkRetries: 0`): attempts are
 * Counterfoil's, which writes each down before it starts. Stripe's SDK repeats a call once all the same whose
 * connection was closed, under the same key, so that it is one refund.
 */
export function refundBy(stripe: Stripe): Effect<Refund> {
  return sendEffect<Refund, Answer>("refund/v1", {
    input: type<Refund>(),
    answer: type<Answer>(),
    destination: "https://api.stripe.com",
    // Stripe keeps keys for at least a day.
    idempotency: { keyLifetime: "24h" },
    timeout: "20s",
    send: async ({ operation, idempotencyKey, done, answered, unsent }) => {
      const { paymentIntent, amount } = operation.input;
      const metadata = { operation: operation.key };
      try {
        const refund = await stripe.refunds.create(
          { payment_intent: paymentIntent, amount, metadata },
          { idempotencyKey },
        );
        return done({ id: refund.id });
      } catch (error) {
        return verdictOf(error, { answered, unsent });
      }
    },
    // For what is uncertain after its key has expired: is there a refund that names the operation?
    lookup: {
      ask: async ({ operation }) => {
        for await (const refund of stripe.refunds.list({ payment_intent: operation.input.paymentIntent, limit: 100 })) {
          if (refund.metadata?.["operation"] === operation.key) return { id: refund.id };
        }
        return undefined;
      },
    },
  });
}

/** An answer says what happened; so does an error that names a connection that never stood. The rest is thrown on: maybe. */
function verdictOf(
  error: unknown,
  { answered, unsent }: Pick<SendContext<Refund, Answer>, "answered" | "unsent">,
): Sending {
  if (!(error instanceof Stripe.errors.StripeError)) throw error;
  if (error.statusCode !== undefined) {
    return answered(error.statusCode, {
      retryAfter: error.headers?.["retry-after"],
      keyReused: error instanceof Stripe.errors.StripeIdempotencyError,
      reason: error.code,
    });
  }
  if (causeCode(error) === "ECONNREFUSED") return unsent("nobody listens");
  throw error;
}

/** The system's error code behind an error of the SDK. */
function causeCode(error: Stripe.errors.StripeError): unknown {
  const { detail } = error as { readonly detail?: unknown };
  return typeof detail === "object" && detail !== null && "code" in detail ? detail.code : undefined;
}
