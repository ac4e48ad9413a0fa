import { describe, expect, onTestFinished } from "vitest";
import { itemBytes, onFrameworkPath, onFastPath } from "./support/plainRequest.ts";
import { openRawConnection } from "./support/rawConnection.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";

const it = sharedServiceTest()
  .extend("makeMailbox", file, ({ service }) => async ({ api_key: key }: Account): Promise<string> => {
    const body = { kind: "mailbox", name: "inbox" };
    return (await service.call("POST", "/api/v1/targets", { key, body })).body.id;
  })
  .extend("setBilling", file, ({ pool }) => async (account: Account, status: string): Promise<void> => {
    await setBillingStatus(pool, account.user, status);
  })
  /** Returns the status of a request's answer, and its `X-Error-Code`. */
  .extend(
    "refusalOf",
    file,
    ({ service }) =>
      async (request: Buffer): Promise<[number, string | undefined]> => {
        const connection = await openRawConnection(service.port);
        onTestFinished(() => connection.destroy());
        await connection.write(request);
        const { status, headers } = await connection.answer();
        return [status, headers.find(([name]) => name.toLowerCase() === "x-error-code")?.[1]];
      },
  );

describe.each([
  ["the fast path", onFastPath],
  ["the framework's way", onFrameworkPath],
])("a refused item on %s has an error code for:", (_name, way) => {
  it("a key that was used with another body, and a disabled mailbox", async ({
    own: { account },
    service,
    makeMailbox,
    refusalOf,
  }) => {
    const targetId = await makeMailbox(account);
    const key = account.api_key;
    const more = ["Idempotency-Key: one"];
    expect(await refusalOf(way(itemBytes({ targetId, key, more })))).toEqual([202, undefined]);
    const other = itemBytes({ targetId, key, more, body: "[]" });
    expect(await refusalOf(way(other))).toEqual([409, "idempotency_conflict"]);
    await service.call("PATCH", `/api/v1/targets/${targetId}`, { key, body: { enabled: false } });
    expect(await refusalOf(way(itemBytes({ targetId, key })))).toEqual([409, "mailbox_disabled"]);
  });

  it.for([
    ["suspended", 402, "workspace_suspended"],
    ["pending", 403, "workspace_pending"],
  ] as const)(
    "an organization that is %s",
    async ([billing, status, code], { service, makeMailbox, setBilling, refusalOf }) => {
      const account = await signUp(service);
      const targetId = await makeMailbox(account);
      await setBilling(account, billing);
      const request = itemBytes({ targetId, key: account.api_key });
      expect(await refusalOf(way(request))).toEqual([status, code]);
    },
  );
});

it.for([
  ["claimed", [], "message_claimed"],
  ["acknowledged", ["ack"], "message_ended"],
] as const)(
  "the error code of a claim by id says whether it may succeed later: a message that is %s",
  async ([_state, then, code], { own: { account }, service, makeMailbox }) => {
    const key = account.api_key;
    const targetId = await makeMailbox(account);
    const { id } = (await service.call("POST", `/t/${targetId}`, { key, body: {} })).body;
    const call = (verb: string) => service.call("POST", `/api/v1/mailbox-messages/${id}/${verb}`, { key });
    for (const verb of ["claim", ...then]) expect((await call(verb)).status).toBe(200);
    const { status, headers } = await call("claim");
    expect([status, headers["x-error-code"]]).toEqual([409, code]);
  },
);

it("an API key that an organization may not create is refused with an error code, too", async ({
  own: { account },
  service,
  setBilling,
}) => {
  await setBilling(account, "suspended");
  const answer = await service.call("POST", "/api/v1/keys", {
    session: account.session_token,
    body: { name: "k" },
  });
  expect([answer.status, answer.headers["x-error-code"]]).toEqual([402, "workspace_suspended"]);
  // Without a subscription there is no open invoice.
  expect(answer.body.error).toMatch(/pay the open invoice, or set up payment anew if there is none$/);
});

it("the error code of an acknowledgement says whether the claim is lost or the message has ended", async ({
  own: { account },
  service,
  makeMailbox,
}) => {
  const key = account.api_key;
  const targetId = await makeMailbox(account);
  const { id } = (await service.call("POST", `/t/${targetId}`, { key, body: {} })).body;
  const message = `/api/v1/mailbox-messages/${id}`;
  await service.call("POST", `${message}/claim`, { key });
  const { status, headers } = await service.call("POST", `${message}/ack`, {
    key,
    body: { claim_token: "0".repeat(32) },
  });
  expect([status, headers["x-error-code"]]).toEqual([409, "claim_lost"]);
});
