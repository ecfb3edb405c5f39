/** What the tests use of Express, which brings no types of its own. */
declare module "express" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  type Middleware = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

  interface Router {
    (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void;
    use(...handlers: Middleware[]): this;
    use(path: string, ...handlers: Middleware[]): this;
  }

  interface Express {
    (): Router;
    Router(): Router;
    json(): Middleware;
    urlencoded(): Middleware;
    raw(options: { readonly type: string; readonly limit?: string }): Middleware;
    text(options: { readonly type: string }): Middleware;
  }

  const express: Express;
  export default express;
}
