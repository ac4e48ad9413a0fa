import { finished } from "node:stream";
import { Type } from "typebox";
import type { ChangeType } from "../items/changes.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { textOf } from "../http/contract/textForms.ts";
import type { StreamHub } from "./hub.ts";

const route = routesOf<StreamRouteDeps>("Events");

export interface StreamRouteDeps {
  streams: { hub: StreamHub };
  isStopping: () => boolean;
}

const types: readonly ChangeType[] = ["item", "attempt", "target", "mailbox", "handoff"];

const description = `Sends the changes of the organization as server-sent events, within a second. In a browser, read the \
stream with fetch: EventSource cannot send credentials. An idle stream sends a comment every 15 s.

- \`item\` {id, target_id, event_type, status, created_at}: an item was accepted or, with the status CANCELED, was canceled while it waited.
- \`attempt\` {event_id, target_id, number, status_code, duration_ms, error, outcome, next_attempt_at}: an attempt \
ended. The outcome is delivered, retrying or failed.
- \`target\`, \`mailbox\` {id} and \`handoff\` {event_id, target_id}: the object changed; read it again.
- \`summary\` {from, to, targets: [{target_id, accepted, delivered, retried, failed}]}: sent instead of \
\`item\` and \`attempt\` when there are too many of them.
- \`reset\` {reason}: changes may have been missed; read again everything that you show.
- \`end\` {reason}: the stream ends. stopping: the process stops, connect again. unauthorized: the credential was revoked.

Each change is sent at least once, and possibly twice. A stream is a notification and not a record: the responses of the \
other routes are authoritative. To resume after a broken connection, send the last \`id\` as Last-Event-ID.`;

export const streamRoute = route("openStream", "GET /api/v1/stream", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Open a stream of changes as server-sent events",
  description,
  query: Type.Object({
    types: Type.Optional(
      Type.String({ description: `Only changes of these types, separated by commas: ${types.join(", ")}` }),
    ),
  }),
  headers: Type.Object({
    "last-event-id": Type.Optional(
      textOf("streamId", {
        description: "The last id that the client received; the stream resumes after it",
      }),
    ),
  }),
  response: { 200: Type.String({ description: "text/event-stream" }) },
  async handle({ caller, query, request, reply }, deps) {
    const wanted = readTypes(query.types);
    if (deps.isStopping())
      throw new ApiError(503, "the service is stopping: try again", { retryAfterSeconds: 1 });
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
      throw new ApiError(400, `types: "${name.slice(0, 40)}" is not one of ${types.join(", ")}`);
    }
    return type;
  });
}
