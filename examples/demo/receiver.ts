import { Webhook } from "standardwebhooks";
import { startLocalServer } from "./play.ts";

/** One request that reached the receiver. */
export interface Arrival {
  /** The delivered event (`x-event-id`). A replay has its own event, but keeps the `webhook-id` of its source. */
  eventId: string;
  eventType: string | undefined;
  /** `verified` if the signature is valid; otherwise the reason why it is not. */
  verdict: string;
  /** Status code of the receiver's answer. */
  answered: number;
  body: unknown;
}

/** A webhook receiver as a customer would write it: it verifies the signature of each request. */
export interface Receiver {
  url: string;
  /** Sets the secret to verify with, which is known once the target was created. */
  trust(secret: string): void;
  /** Answers the next `count` requests with 503, like a receiver that is being deployed. */
  failNext(count: number): void;
  /** Resolves with the next arrival that `fits` accepts. @throws after 30 seconds without one. */
  next(fits: (arrival: Arrival) => boolean): Promise<Arrival>;
  close(): Promise<void>;
}

const waitLimitMs = 30_000;

/** Starts a receiver on a free port of this machine. */
export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  let verifier: Webhook | undefined;
  let failures = 0;
  let onArrival: () => void = () => undefined;
  const { url, close } = await startLocalServer((request, body, response) => {
    const verdict = verify(verifier, body, request.headers as Record<string, string>);
    const answered = verdict !== "verified" ? 401 : failures > 0 ? 503 : 200;
    if (answered === 503) failures--;
    response.writeHead(answered).end(answered === 200 ? "thank you" : "not now");
    arrivals.push({
      eventId: String(request.headers["x-event-id"]),
      eventType: request.headers["x-event-type"] as string | undefined,
      verdict,
      answered,
      body: JSON.parse(body.toString()),
    });
    onArrival();
  });
  return {
    url: `${url}/webhooks`,
    trust(secret) {
      verifier = new Webhook(secret);
    },
    failNext(count) {
      failures = count;
    },
    async next(fits) {
      const deadline = performance.now() + waitLimitMs;
      for (;;) {
        const index = arrivals.findIndex(fits);
        if (index >= 0) return arrivals.splice(index, 1)[0]!;
        const leftMs = deadline - performance.now();
        if (leftMs <= 0) throw new Error("nothing arrived at the receiver within 30 seconds");
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          onArrival = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    close,
  };
}

function verify(verifier: Webhook | undefined, body: Buffer, headers: Record<string, string>): string {
  if (verifier === undefined) return "the receiver knows no secret yet";
  try {
    verifier.verify(body, headers);
    return "verified";
  } catch (error) {
    return (error as Error).message;
  }
}
