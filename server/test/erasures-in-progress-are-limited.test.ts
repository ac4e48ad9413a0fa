import { expect } from "vitest";
import { nodeTest } from "./support/fixtures.ts";
import { signUp } from "./support/testNode.ts";

/** A node that only serves requests: no erasure ends. */
const it = nodeTest({ POSTRIDER_ROLES: "api" });

it("an organization may have exactly 100 erasures in progress, also with simultaneous requests", async ({
  node,
}) => {
  const { api_key: key } = await signUp(node);
  const ask = (n: number) =>
    node.call("POST", "/api/v1/erasures", { key, body: { correlation_id: `customer-${n}` } });
  const answers = await Promise.all(Array.from({ length: 130 }, (_, n) => ask(n)));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(100);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(30);
  const { api_key: other } = await signUp(node);
  const body = { correlation_id: "customer-0" };
  expect((await node.call("POST", "/api/v1/erasures", { key: other, body })).status).toBe(202);
});
