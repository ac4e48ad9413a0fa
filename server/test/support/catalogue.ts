import { signUp } from "./testNode.ts";

/** Creates an organization with a catalogue of these types. */
export async function organization(node: Parameters<typeof signUp>[0], types: readonly string[]) {
  const { api_key: key } = await signUp(node);
  const call = (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object | string) =>
    node.call(method, path, { key, ...(body !== undefined && { body }) });
  for (const type of types) await call("PUT", `/api/v1/event-types/${type}`, {});
  const webhook = (eventTypes: readonly string[]) =>
    call("POST", "/api/v1/targets", {
      kind: "webhook",
      name: "w",
      url: "https://127.0.0.1:9/",
      event_types: eventTypes,
    });
  return { call, webhook };
}
