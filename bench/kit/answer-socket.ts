import { connect, type Socket } from "node:net";

/**
 * One keep-alive connection with at most one request in flight, read as HTTP/1.1 by the cheapest
 * means that are still right: a status line, headers with a Content-Length, and that many bytes.
 * The servers measured here send nothing else; anything else ends the connection with an error.
 */
export interface AnswerSocket {
  send(request: Buffer): void;
  close(): void;
}

export interface AnswerSocketEvents {
  readonly onOpen: () => void;
  readonly onAnswer: (status: number) => void;
  /** The connection is gone; with an error unless this side closed it. */
  readonly onEnd: (error?: Error) => void;
}

const readBytes = 4096;
const answerBytesMax = 65_536;

/** Opens a connection to a loopback port. */
export function answerSocket(port: number, events: AnswerSocketEvents): AnswerSocket {
  const buffer = Buffer.allocUnsafe(readBytes);
  let pending = "";
  let closing = false;
  let failure: Error | undefined;
  const socket: Socket = connect({
    host: "127.0.0.1",
    port,
    noDelay: true,
    onread: {
      // One buffer for all reads: no stream, no allocation for each answer.
      buffer,
      callback(size) {
        const text = buffer.toString("latin1", 0, size);
        pending = pending === "" ? text : pending + text;
        try {
          const status = wholeAnswer(pending);
          if (status === undefined) return true;
          pending = "";
          events.onAnswer(status);
        } catch (error) {
          failure = error as Error;
          socket.destroy();
        }
        return true;
      },
    },
  });
  socket.on("connect", events.onOpen);
  socket.on("error", (error) => (failure ??= error));
  socket.on("close", () => {
    events.onEnd(closing ? undefined : (failure ?? new Error("The server closed the connection")));
  });
  return {
    send: (request) => void socket.write(request),
    close() {
      closing = true;
      socket.destroy();
    },
  };
}

/** The status of a complete answer, or undefined while bytes are missing. */
export function wholeAnswer(text: string): number | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0 && text.length < answerBytesMax) return undefined;
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text)?.[1];
  if (!text.startsWith("HTTP/1.1 ") || length === undefined) {
    throw new Error("Cannot read answer: expected HTTP/1.1 with a Content-Length");
  }
  const missing = headEnd + 4 + Number(length) - text.length;
  if (missing > 0) return undefined;
  if (missing < 0) throw new Error(`Cannot read answer: ${-missing} bytes follow its end`);
  return Number(text.slice(9, 12));
}
