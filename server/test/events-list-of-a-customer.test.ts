import { describe, expect } from "vitest";
import { sharedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget, sendItem } from "./support/items.ts";
import { signUp } from "./support/testNode.ts";

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" });

describe("the list of a customer's events", () => {
  it("has the events of its targets and no others, with every other filter", async ({ node }) => {
    const owner = await signUp(node);
    const { api_key: own } = owner;
    await node.call("PUT", "/api/v1/customers/acme", { key: own, body: {} });
    const [ofAcme, other] = [
      await createMailboxTarget(node, owner, { customer_uid: "acme" }),
      await createMailboxTarget(node, owner),
    ];
    const sent = await sendItem(node, owner, ofAcme, { event_type: "order.paid" });
    const otherSent = await sendItem(node, owner, other, { event_type: "order.paid" });
    const idsOf = async (query: string): Promise<string[]> => {
      const { status, body } = await node.call("GET", `/api/v1/events?${query}`, { key: own });
      expect({ query, status }).toEqual({ query, status: 200 });
      return body.events.map(({ id }: { id: string }) => id);
    };
    expect(await idsOf("")).toEqual([otherSent, sent]);
    for (const more of ["", "&status=UNREAD", "&event_type=order.paid", `&target_id=${ofAcme}`])
      expect(await idsOf(`customer_uid=acme${more}`)).toEqual([sent]);
    for (const none of ["nobody", `acme&target_id=${other}`, "acme&status=CLAIMED"])
      expect(await idsOf(`customer_uid=${none}`)).toEqual([]);
    const stranger = await signUp(node);
    const { body } = await node.call("GET", "/api/v1/events?customer_uid=acme", { key: stranger.api_key });
    expect(body.events).toEqual([]);
    const refused = await node.call("GET", "/api/v1/events?customer_uid=a%20b", { key: own });
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining("customer_uid") } });
  });

  it("does not show another customer to a key that is limited to one customer", async ({ node }) => {
    const owner = await signUp(node);
    for (const uid of ["mine", "theirs"])
      await node.call("PUT", `/api/v1/customers/${uid}`, { key: owner.api_key, body: {} });
    await sendItem(node, owner, await createMailboxTarget(node, owner, { customer_uid: "theirs" }), {});
    const made = await node.call("POST", "/api/v1/keys", {
      session: owner.session_token,
      body: { name: "mine", scope: "customer", customer_uid: "mine" },
    });
    const { body: listed } = await node.call("GET", "/api/v1/events?customer_uid=theirs", {
      key: made.body.key,
    });
    expect(listed.events).toEqual([]);
  });
});
