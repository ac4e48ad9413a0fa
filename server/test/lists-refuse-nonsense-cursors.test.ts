import { expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { openApi } from "./support/contract.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest();

/** The pagination parameters of lists. */
const cursors = ["before", "after", "offset", "cursor"];

/** Neither an id, nor a name, nor a number. */
const nonsense = "no\u0007cursor";

const lists = Object.entries(openApi.paths).flatMap(([path, { get }]) =>
  (get?.parameters ?? [])
    .filter(({ in: place, name }) => place === "query" && cursors.includes(name))
    .map(({ name }) => [path, name] as const),
);

it("every list with pages is tested", () => {
  expect(lists.map(([path, name]) => `${path} ${name}`)).toEqual(
    expect.arrayContaining([
      "/api/v1/audit-log before",
      "/api/v1/invitations before",
      "/api/v1/members after",
      "/api/v1/events before",
    ]),
  );
  expect(lists.length).toBeGreaterThan(12);
});

it.for(lists)("%s refuses an invalid cursor, naming %s", async ([path, name], { node, account }) => {
  const mailboxId = await createMailboxTarget(node, account);
  const asked = `${path.replaceAll(/\{\w+\}/g, mailboxId)}?${name}=${encodeURIComponent(nonsense)}`;
  for (const credential of [{ session: account.session_token }, { key: account.api_key }]) {
    const { status, body } = await node.call("GET", asked, credential);
    if (status === 403) continue;
    expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringContaining(name) });
  }
});
