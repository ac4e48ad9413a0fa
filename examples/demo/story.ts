import { randomUUID } from "node:crypto";
import type { ApiClient } from "./apiClient.ts";
import type { Receiver } from "./receiver.ts";

export interface StoryDeps {
  api: ApiClient;
  receiver: Receiver;
  say: (line: string) => void;
}

const chapters = 7;

/** Plays the life of a webhook, from sign-up to replay. @throws at the first result that is not as promised. */
export async function playStory({ api, receiver, say }: StoryDeps): Promise<void> {
  let chapter = 0;
  const title = (text: string): void => say(`\n[${++chapter}/${chapters}] ${text}`);

  title("Sign up: an organization, an API key and a session");
  const email = `demo-${randomUUID().slice(0, 8)}@example.com`;
  const signup = await api.post("/api/v1/auth/signup", { email, password: "correct horse battery" });
  const key = String(signup.json["api_key"]);
  api.useKey(key);
  say(`      ${email} has the key ${key.slice(0, 12)}… (shown once, stored as a hash)`);

  title("Create a webhook target; its signing secret is shown once");
  const target = await api.post("/api/v1/targets", { kind: "webhook", name: "demo", url: receiver.url });
  const targetId = String(target.json["id"]);
  // Retries come after 1 s, not after the default of 30 s.
  await api.patch(`/api/v1/targets/${targetId}`, { retry_interval_seconds: 1 });
  receiver.trust(String(target.json["secret"]));
  say(`      target ${targetId} → ${receiver.url}`);

  title("Post an item: 202 means that it is on disk");
  const item = await postItem(api, targetId, { event_type: "order.created", order: 1001, total: "49.90" });
  say(`      accepted as ${item} and ${await arrival(receiver, item)}`);

  title("Post the same item again under one idempotency key: it stays one item");
  const once = { "idempotency-key": randomUUID() };
  const first = await api.post(`/t/${targetId}`, { event_type: "order.paid", order: 1001 }, once);
  const again = await api.post(`/t/${targetId}`, { event_type: "order.paid", order: 1001 }, once);
  if (first.json["id"] !== again.json["id"]) throw new Error("two items came of one idempotency key");
  say(`      both answers name ${String(first.json["id"])}; the second says Idempotency-Replayed: true`);
  say(`      and ${await arrival(receiver, String(first.json["id"]))}`);

  title("The receiver fails once: the item is tried again by itself");
  receiver.failNext(1);
  const stubborn = await postItem(api, targetId, { event_type: "order.shipped", order: 1001 });
  say(`      first ${await arrival(receiver, stubborn)}`);
  say(`      then  ${await arrival(receiver, stubborn)}`);

  title("Read the event: every attempt is on record");
  await showEvent(api, stubborn, say);

  title("Replay it: a new event from the stored payload, free of charge");
  const replay = await api.post(`/api/v1/events/${stubborn}/replay`);
  const replayed = String(replay.json["id"]);
  say(
    `      ${replayed} is a replay of ${String(replay.json["source_event_id"])} and ${await arrival(receiver, replayed)}`,
  );

  const usage = (await api.get("/api/v1/usage")).json["usage"] as Record<string, unknown>;
  say(
    `\nDone: ${String(usage["accepted_events"])} items accepted and metered; retries, duplicates and the replay were not.`,
  );
}

async function postItem(api: ApiClient, targetId: string, item: object): Promise<string> {
  const answer = await api.post(`/t/${targetId}`, item);
  if (answer.status !== 202) throw new Error(`the item was answered ${answer.status}`);
  return String(answer.json["id"]);
}

async function arrival(receiver: Receiver, id: string): Promise<string> {
  const arrived = await receiver.next(({ eventId }) => eventId === id);
  if (arrived.verdict !== "verified") throw new Error(`a signature did not verify: ${arrived.verdict}`);
  return `delivered with a verified signature (the receiver answered ${arrived.answered})`;
}

async function showEvent(api: ApiClient, id: string, say: (line: string) => void): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const { event, delivery_attempts: attempts } = (await api.get(`/api/v1/events/${id}`)).json as {
      event: { status: string };
      delivery_attempts: { status_code: number; duration_ms: number; error: string | null }[];
    };
    if (event.status === "DELIVERED") {
      say(`      status ${event.status}`);
      for (const attempt of attempts) {
        say(
          `      ${attempt.status_code} after ${attempt.duration_ms} ms${attempt.error ? `: ${attempt.error}` : ""}`,
        );
      }
      return;
    }
    if (performance.now() > deadline) throw new Error(`the event is ${event.status}, not DELIVERED`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
