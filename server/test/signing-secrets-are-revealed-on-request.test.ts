import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import { entries, type Entry } from "./support/auditLog.ts";
import { file, sharedStartedNodeTest } from "./support/fixtures.ts";
import { createMailboxTarget } from "./support/items.ts";
import { join } from "./support/members.ts";
import { enterPortal } from "./support/portal.ts";
import { isSignedWith } from "./support/receiver.ts";
import { type Account, type Answer, type CallOptions, signUp } from "./support/testNode.ts";

const it = sharedStartedNodeTest()
  .extend(
    "switchTo",
    file,
    ({ node }) =>
      (isOn: boolean, credential: CallOptions) =>
        node.call("PATCH", "/api/v1/orgs", { ...credential, body: { secrets_can_be_revealed: isOn } }),
  )
  .extend(
    "reveal",
    file,
    ({ node }) =>
      (id: string, credential: CallOptions) =>
        node.call("POST", `/api/v1/targets/${id}/signing-secret/reveal`, credential),
  )
  .extend(
    "isOn",
    file,
    ({ node }) =>
      async ({ api_key: key }: Account): Promise<boolean> =>
        (await node.call("GET", "/api/v1/orgs", { key })).body.org.secrets_can_be_revealed,
  );

const asAdmin = ({ session_token: session }: Account): CallOptions => ({ session });

/** The audit entries about revealing, oldest first. */
const onRecord = (log: Entry[]): Entry[] => log.filter(({ action }) => /reveal/.test(action)).toReversed();

describe("revealing", () => {
  it("is off unless an admin enables it, and is refused with a message that names the switch", async ({
    own: { account, newTarget },
    node,
    isOn,
    reveal,
    switchTo,
  }) => {
    const { id, secret } = await newTarget();
    expect(await isOn(account)).toBe(false);
    const refused = await reveal(id, asAdmin(account));
    expect(refused).toMatchObject({
      status: 403,
      headers: { "x-error-code": "revealing_is_off" },
      body: { error: expect.stringContaining("secrets_can_be_revealed") },
    });
    expect(JSON.stringify(refused)).not.toContain(secret.slice("whsec_".length));
    expect(onRecord(await entries(node, account))).toEqual([]);

    expect(await switchTo(true, asAdmin(account))).toMatchObject({ status: 200, body: { updated: true } });
    expect(await isOn(account)).toBe(true);
    expect((await reveal(id, asAdmin(account))).status).toBe(200);
    await switchTo(false, asAdmin(account));
    expect(await isOn(account)).toBe(false);
    expect((await reveal(id, asAdmin(account))).status).toBe(403);
  });

  it("returns the secret that signs deliveries, with headers that forbid caching", async ({
    own: { account, newTarget, send },
    receiver,
    reveal,
    switchTo,
  }) => {
    const made = await newTarget();
    await switchTo(true, asAdmin(account));
    const answer = await reveal(made.id, asAdmin(account));
    expect(answer).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
    expect(answer.body).toEqual({ secret: made.secret });
    await send(made.id);
    const [received] = await receiver.arrivals(1, { path: made.path });
    expect(isSignedWith(answer.body.secret, received!)).toBe(true);
  });

  it("returns both secrets during a rotation, also an imported one", async ({
    own: { account, newTarget, send, call },
    receiver,
    reveal,
    switchTo,
  }) => {
    const { id, secret: first, path } = await newTarget();
    await switchTo(true, asAdmin(account));
    // The longest possible secret is returned exactly.
    const imported = `whsec_${randomBytes(64).toString("base64")}`;
    await call("POST", `/api/v1/targets/${id}/signing-secret/rotate`, { secret: imported });
    const { body } = await reveal(id, asAdmin(account));
    expect(body).toEqual({ secret: imported, previous_secret: first });
    await send(id);
    const [received] = await receiver.arrivals(1, { path });
    for (const secret of Object.values<string>(body)) expect(isSignedWith(secret, received!)).toBe(true);
    await call("DELETE", `/api/v1/targets/${id}/signing-secret/previous`);
    expect((await reveal(id, asAdmin(account))).body).toEqual({ secret: imported });
  });

  it("works for a legacy endpoint, which is a target", async ({
    own: { account, call },
    receiver,
    reveal,
    switchTo,
  }) => {
    const { body: made } = await call("POST", "/api/v1/endpoints", { name: "old", url: receiver.url });
    await switchTo(true, asAdmin(account));
    expect((await reveal(made.id, asAdmin(account))).body).toEqual({ secret: made.secret });
    // The records themselves do not contain the secret.
    for (const path of [`/api/v1/endpoints/${made.id}`, `/api/v1/targets/${made.id}`]) {
      expect(JSON.stringify((await call("GET", path)).body)).not.toContain(made.secret);
    }
  });
});

describe("only an admin", () => {
  it("can reveal a secret: no member, viewer, API key or customer", async ({
    own: { account, newTarget, call },
    node,
    reveal,
    switchTo,
  }) => {
    await call("PUT", "/api/v1/customers/shop-7", {});
    const { id, secret } = await newTarget({ customer_uid: "shop-7" });
    await switchTo(true, asAdmin(account));
    const portal = await enterPortal(node, account.api_key, "shop-7");
    const answers: [code: string | undefined, answer: Answer][] = [
      ["role_too_low", await reveal(id, { session: (await join(node, account, "member")).session_token })],
      ["role_too_low", await reveal(id, { session: (await join(node, account, "viewer")).session_token })],
      [undefined, await reveal(id, { key: account.api_key })],
      ["scope_refused", await reveal(id, { session: portal })],
    ];
    for (const [code, answer] of answers) {
      expect(answer.status).toBe(403);
      expect(answer.headers["x-error-code"]).toBe(code);
      expect(JSON.stringify(answer)).not.toContain(secret);
    }
    expect((await reveal(id, {})).status).toBe(401);
    expect(onRecord(await entries(node, account)).map(({ action }) => action)).toEqual([
      "organization.revealing_changed",
    ]);
  });

  it("can change the switch, and an API key cannot even disable it", async ({
    own: { account },
    node,
    isOn,
    switchTo,
  }) => {
    const member = await join(node, account, "member");
    expect((await switchTo(true, { session: member.session_token })).status).toBe(403);
    expect(await switchTo(true, { key: account.api_key })).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining("X-Session-Token") },
    });
    expect(await isOn(account)).toBe(false);
    await switchTo(true, asAdmin(account));
    // Refused completely, including the name.
    const answer = await node.call("PATCH", "/api/v1/orgs", {
      key: account.api_key,
      body: { name: "by key", secrets_can_be_revealed: false },
    });
    expect(answer.status).toBe(403);
    const { body } = await node.call("GET", "/api/v1/orgs", { key: account.api_key });
    expect(body.org).toMatchObject({ name: account.user.name, secrets_can_be_revealed: true });
  });

  it("of the same organization can reveal: another organization's target is not found", async ({
    own: { newTarget },
    node,
    reveal,
    switchTo,
  }) => {
    const { id } = await newTarget();
    const stranger = await signUp(node);
    for (const isOn of [false, true]) {
      await switchTo(isOn, asAdmin(stranger));
      const answers = [await reveal(id, asAdmin(stranger)), await reveal("nothing", asAdmin(stranger))];
      for (const answer of answers)
        expect(answer).toMatchObject({ status: 404, body: { error: "not found" } });
    }
  });
});

it("a target kind without a secret is refused with a message that only webhooks have one", async ({
  own: { account },
  node,
  reveal,
  switchTo,
}) => {
  const id = await createMailboxTarget(node, account);
  await switchTo(true, asAdmin(account));
  expect(await reveal(id, asAdmin(account))).toMatchObject({
    status: 400,
    body: { error: "this route is only for webhook targets: the target is of kind mailbox" },
  });
});

it("each reveal and each change of the switch has one audit entry, with the person and without the secret", async ({
  own: { account, newTarget },
  node,
  reveal,
  switchTo,
}) => {
  const { id, secret } = await newTarget({ name: "orders" });
  // Enabling an enabled switch is no change.
  for (const isOn of [true, true]) await switchTo(isOn, asAdmin(account));
  for (let count = 0; count < 2; count++) await reveal(id, asAdmin(account));
  await switchTo(false, asAdmin(account));
  const log = await entries(node, account);
  const actor = { kind: "user", id: account.user.id, name: account.user.email };
  const switched = (before: boolean) => ({
    action: "organization.revealing_changed",
    actor,
    object: { kind: "organization", id: account.user.org_id, name: account.user.name },
    before: { secrets_can_be_revealed: before },
    after: { secrets_can_be_revealed: !before },
  });
  const revealed = {
    action: "target.secret_revealed",
    actor,
    object: { kind: "target", id, name: "orders" },
    before: null,
    after: null,
    request_id: expect.any(String),
  };
  expect(onRecord(log)).toMatchObject([switched(false), revealed, revealed, switched(true)]);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  for (const form of ["base64", "base64url", "hex"] as const) {
    expect(JSON.stringify(log)).not.toContain(key.toString(form));
  }
});
