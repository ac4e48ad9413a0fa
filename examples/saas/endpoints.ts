import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

/** The webhooks of all customers, which verify each request before they believe it. */
export interface Endpoints {
  /** Where the endpoint of this name is reached. */
  urlOf(name: string): string;
  /** The secret that the endpoint verifies with. */
  trust(name: string, secret: string): void;
  /** Whether the endpoint answers 503, as one does that is down. */
  setDown(name: string, isDown: boolean): void;
  /** Resolves once so many requests that were verified have been answered 200, all endpoints together. */
  delivered(count: number): Promise<void>;
  close(): Promise<void>;
}

const waitLimitMs = 60_000;

/** Starts them on a free port of this machine. */
export async function startEndpoints(): Promise<Endpoints> {
  const secrets = new Map<string, Webhook>();
  const down = new Set<string>();
  let count = 0;
  let onDelivered: () => void = () => undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const name = (request.url ?? "").slice(1);
      if (down.has(name)) return void response.writeHead(503).end();
      if (!isSigned(secrets.get(name), Buffer.concat(chunks), request.headers as Record<string, string>)) {
        return void response.writeHead(401).end();
      }
      response.writeHead(200).end();
      count++;
      onDelivered();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    urlOf: (name) => `http://127.0.0.1:${port}/${name}`,
    trust: (name, secret) => void secrets.set(name, new Webhook(secret)),
    setDown: (name, isDown) => void (isDown ? down.add(name) : down.delete(name)),
    delivered: (wanted) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${count} of ${wanted} deliveries arrived within a minute`)),
          waitLimitMs,
        );
        onDelivered = () => {
          if (count < wanted) return;
          clearTimeout(timer);
          resolve();
        };
        onDelivered();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isSigned(verifier: Webhook | undefined, body: Buffer, headers: Record<string, string>): boolean {
  try {
    verifier?.verify(body, headers);
    return verifier !== undefined;
  } catch {
    return false;
  }
}
