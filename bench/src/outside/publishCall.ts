import { randomUUID } from "node:crypto";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

/** The call that publishes an event. */
export interface PublishCall {
  url: URL;
  method: string;
  /** `name: value` each. */
  headers: readonly string[];
  /** A template with `{{id}}`, `{{data}}`, `{{uuid}}` and `{{now}}`. */
  body: string;
}

/** Fills the template: the id, `dataBytes` of data, a new UUID, the time in ISO 8601. */
export function bodyOf(template: string, id: string, dataBytes: number): string {
  return template
    .replaceAll("{{id}}", id)
    .replaceAll("{{data}}", "x".repeat(dataBytes))
    .replaceAll("{{uuid}}", () => randomUUID())
    .replaceAll("{{now}}", () => new Date().toISOString());
}

/** Makes calls over keep-alive connections, one per call in flight. `publish` resolves with the status, 0 without an answer. */
export function openPublisher(call: PublishCall) {
  const isSecure = call.url.protocol === "https:";
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true });
  const send = isSecure ? httpsRequest : httpRequest;
  const headers = Object.fromEntries(
    call.headers.map((line) => {
      const at = line.indexOf(":");
      if (at < 1) throw new Error(`--header "${line}" is not of the form "name: value"`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
  return {
    publish: (body: string) =>
      new Promise<number>((resolve) => {
        const request = send(call.url, {
          method: call.method,
          agent,
          headers: {
            "content-type": "application/json",
            ...headers,
            "content-length": Buffer.byteLength(body),
          },
        });
        request.once("response", (response) => {
          response.resume();
          response.once("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
        });
        request.once("error", () => resolve(0));
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}
