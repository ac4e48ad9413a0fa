import { Webhook } from "standardwebhooks";
import { startLocalServer } from "../demo/play.ts";

/** The webhook endpoints of all customers. They verify the signature of each request. */
export interface Endpoints {
  /** The URL of the endpoint with this name. */
  urlOf(name: string): string;
  /** Sets the secret with which the endpoint verifies signatures. */
  trust(name: string, secret: string): void;
  /** Sets whether the endpoint is down, so that it answers 503. */
  setDown(name: string, isDown: boolean): void;
  /** Resolves once all endpoints together have answered `count` verified requests with 200. @throws after a minute. */
  delivered(count: number): Promise<void>;
  close(): Promise<void>;
}

const waitLimitMs = 60_000;

/** Starts the endpoints on one free port of this machine. */
export async function startEndpoints(): Promise<Endpoints> {
  const secrets = new Map<string, Webhook>();
  const down = new Set<string>();
  let count = 0;
  let onDelivered: () => void = () => undefined;
  const { url, close } = await startLocalServer((request, body, response) => {
    const name = (request.url ?? "").slice(1);
    if (down.has(name)) return void response.writeHead(503).end();
    if (!isSigned(secrets.get(name), body, request.headers as Record<string, string>)) {
      return void response.writeHead(401).end();
    }
    response.writeHead(200).end();
    count++;
    onDelivered();
  });
  return {
    urlOf: (name) => `${url}/${name}`,
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
    close,
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
