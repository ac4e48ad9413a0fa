import { expect } from "vitest";
import type { TestNode } from "./testNode.ts";

/** Opens a session of a customer's portal, through a link created with the key. */
export async function enterPortal(
  node: Pick<TestNode, "call">,
  key: string,
  customerUid: string,
): Promise<string> {
  const link = await node.call("POST", `/api/v1/customers/${customerUid}/portal-links`, { key });
  expect(link.status, JSON.stringify(link.body)).toBe(200);
  const code = new URLSearchParams(new URL(link.body.url).hash.slice(1)).get("code");
  const { status, body } = await node.call("POST", "/api/v1/portal/sessions", { body: { code } });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.session_token;
}
