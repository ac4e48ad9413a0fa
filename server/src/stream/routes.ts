import { finished } from "node:stream";
import { Type } from "typebox";
import type { ChangeType } from "../items/changes.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import type { StreamHub } from "./hub.ts";

const route = routesOf<StreamRouteDeps>("Events");

export interface StreamRouteDeps {
  streams: { hub: StreamHub };
  isStopping: () => boolean;
}

const types: readonly ChangeType[] = ["item", "attempt", "target", "mailbox", "handoff"];

const description = `Server-sent events of the organization, as they happen, within a second. Read it with fetch: \
EventSource cannot send credentials.

- \`item\` {id, target_id, event_type, status, created_at}: accepted; with the status CANCELED, canceled while it waited.
- \`attempt\` {event_id, target_id, number, status_code, duration_ms, error, outcome, next_attempt_at}; outcome is \
delivered, retrying or failed.
- \`target\`, \`mailbox\` {id} and \`handoff\` {event_id, target_id}: something about it changed; read it.
- \`summary\` {from, to, targets: [{target_id, accepted, delivered, retried, failed}]}: in place of items and attempts \
when there are too many to tell each.
- \`reset\` {reason}: something may have been missed; read again what you show.
- \`end\` {reason}: stopping, come back; unauthorized, the credential was revoked.

Changes are told at least once and may be told twice. A stream tells what happens and is no record: what counts is what \
the other routes answer. Send the last \`id\` as Last-Event-ID to go on where a connection broke.`;

export const streamRoute = route("openStream", "GET /api/v1/stream", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Follow what happens, as server-sent events",
  description,
  query: Type.Object({
    types: Type.Optional(
      Type.String({ description: `Only these types, separated by commas: ${types.join(", ")}` }),
    ),
  }),
  headers: Type.Object({
    "last-event-id": Type.Optional(
      Type.String({
        description: "The last id seen, to go on from there",
        pattern: "^[0-9]{1,15}-[0-9a-f]{8}$",
      }),
    ),
  }),
  response: { 200: Type.String({ description: "text/event-stream" }) },
  async handle({ caller, query, request, reply }, deps) {
    const wanted = readTypes(query.types);
    if (deps.isStopping()) throw new ApiError(503, "stopping", { retryAfterSeconds: 1 });
    const { hub } = deps.streams;
    if (hub.isFull(caller.orgId)) {
      throw new ApiError(503, "too many streams are open", { retryAfterSeconds: 30 });
    }
    // The schema allows one value and no list.
    const lastId = request.headers["last-event-id"] as string | undefined;
    const stream = await hub.open({ caller, types: wanted, response: reply.raw }, lastId);
    // Nothing reads the stream in the response to a HEAD request, or after the client has disconnected.
    finished(reply.raw, () => stream.body.destroy());
    return (
      reply
        .type("text/event-stream; charset=utf-8")
        .header("cache-control", "no-store")
        // Proxies that buffer responses (nginx) would hold back the events.
        .header("x-accel-buffering", "no")
        .send(stream.body)
    );
  },
});

/** Parses the requested types. @throws {ApiError} 400 that names an unknown type. */
function readTypes(text: string | undefined): ChangeType[] {
  if (text === undefined) return [];
  return text.split(",").map((name) => {
    const type = types.find((each) => each === name.trim());
    if (type === undefined) {
      throw new ApiError(400, `types: "${name.slice(0, 40)}" is none of ${types.join(", ")}`);
    }
    return type;
  });
}
