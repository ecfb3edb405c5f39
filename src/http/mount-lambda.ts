import { CounterfoilError } from "../domain/errors.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import { json } from "./answer.ts";
import type { Hooks } from "./hooks.ts";

/**
 * What is read of an event of AWS Lambda, in payload format 2.0, which HTTP APIs and function URLs send.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export interface LambdaEvent {
  readonly version: string;
  /** Path as it was sent, with the stage in front where the stage has a name. */
  readonly rawPath: string;
  readonly rawQueryString: string;
  /** Repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly http: { readonly method: string } };
  readonly body?: string;
  readonly isBase64Encoded: boolean;
}

/** What the gateway makes an answer of. */
export interface LambdaAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A handler of AWS Lambda: `export const handler = app.lambda`. */
export type LambdaHandler = (event: LambdaEvent) => Promise<LambdaAnswer>;

/** Mounts hooks behind AWS Lambda; rejects with CONFIG_INVALID where the event is of another format. */
export function mountLambda(hooks: Hooks): LambdaHandler {
  return async (event) => {
    assertReadable(event);
    const { rawPath, rawQueryString, headers, requestContext, body = "", isBase64Encoded } = event;
    const entries = Object.entries(headers).flatMap(([name, value = ""]) => [name, value]);
    const target = rawQueryString === "" ? rawPath : `${rawPath}?${rawQueryString}`;
    const answer = hooks.matches(target)
      ? await hooks.handle({
          method: requestContext.http.method,
          target,
          headers: lambdaHeaders(headers),
          headerBytes: entries.reduce((bytes, text) => bytes + text.length, 0),
          headerCount: entries.length / 2,
          readBody: async (sink) => sink.add(Buffer.from(body, isBase64Encoded ? "base64" : "utf8")),
        })
      : json(404, { error: "UNKNOWN_CONNECTION" });
    return { statusCode: answer.status, headers: answer.headers, body: answer.body ?? "" };
  };
}

function lambdaHeaders(headers: LambdaEvent["headers"]): DeliveryHeaders {
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const get = (name: string): string | undefined => values.get(name.toLowerCase());
  return { get, count: (name) => (get(name) === undefined ? 0 : 1) };
}

function assertReadable({ version, requestContext }: Partial<LambdaEvent>): void {
  if (version === "2.0" && typeof requestContext?.http?.method === "string") return;
  const found = version === undefined ? "no version" : `version "${version}"`;
  throw new CounterfoilError(
    "CONFIG_INVALID",
    `Cannot read the Lambda event: it has ${found}, read is payload format 2.0; use an HTTP API or a function URL, and set its payload format to 2.0`,
  );
}
