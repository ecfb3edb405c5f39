import { answerSocket, type AnswerSocket } from "./answer-socket.ts";

/**
 * A closed loop: every connection sends its next request as soon as the last one is answered.
 * The rate is thus what the server can take from that many clients, not what a schedule asks.
 */
export interface ClosedLoopOptions {
  readonly port: number;
  readonly connections: number;
  /** The next request of a connection that is free, or undefined to close it. */
  readonly next: () => { readonly index: number; readonly bytes: Buffer } | undefined;
  readonly onAnswer: (answer: Answer) => void;
}

export interface Answer {
  readonly index: number;
  readonly status: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * Runs until every connection is closed. Times are `performance.now()`.
 *
 * @throws the first error of a connection, after all have been closed.
 */
export function closedLoop(options: ClosedLoopOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sockets: AnswerSocket[] = [];
  let open = options.connections;
  let failure: Error | undefined;
  for (let count = 0; count < options.connections; count++) {
    let index = 0;
    let startedAt = 0;
    const sendNext = (): void => {
      const request = options.next();
      if (request === undefined) return socket.close();
      index = request.index;
      startedAt = performance.now();
      socket.send(request.bytes);
    };
    const socket = answerSocket(options.port, {
      onOpen: sendNext,
      onAnswer(status) {
        options.onAnswer({ index, status, startedAt, endedAt: performance.now() });
        sendNext();
      },
      onEnd(error) {
        if (error !== undefined && failure === undefined) {
          failure = error;
          for (const other of sockets) other.close();
        }
        open -= 1;
        if (open > 0) return;
        if (failure === undefined) resolve();
        else reject(failure);
      },
    });
    sockets.push(socket);
  }
  return promise;
}
