import { expect } from "vitest";
import { sharedNodeTest } from "./support/fixtures.ts";
import { join } from "./support/members.ts";
import { rawConnectionOfTest } from "./support/rawConnection.ts";
import { signUp } from "./support/testNode.ts";

const it = sharedNodeTest();

it.for([
  ["removed", 401],
  ["demoted", 403],
] as const)(
  "a request whose body arrives after its admin was %s changes nothing",
  async ([change, status], { node, url }) => {
    const owner = await signUp(node);
    const admin = await join(node, owner, "admin");
    const client = await rawConnectionOfTest(Number(new URL(url).port));
    const body = JSON.stringify({ name: "Mine now" });
    const head = `PATCH /api/v1/orgs HTTP/1.1\r\nHost: x\r\nX-Session-Token: ${admin.session_token}\r\n`;
    const form = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    await client.write(head + form + body.slice(0, 5));
    // The service has checked the session when it has answered a later request on another connection.
    const later = { headers: { "X-Session-Token": admin.session_token } };
    expect((await fetch(`${url}/api/v1/orgs`, later)).status).toBe(200);
    const path = `/api/v1/members/${admin.user.id}`;
    const asOwner = { session: owner.session_token };
    const changed =
      change === "removed"
        ? node.call("DELETE", path, asOwner)
        : node.call("PATCH", path, { ...asOwner, body: { role: "member" } });
    expect((await changed).status).toBe(200);
    await client.write(body.slice(5));
    expect((await client.answer()).status).toBe(status);
    const { body: read } = await node.call("GET", "/api/v1/orgs", asOwner);
    expect(read.org.name).not.toBe("Mine now");
  },
);
