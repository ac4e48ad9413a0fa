import { describe, expect } from "vitest";
import { listKeys } from "./keyStore.ts";
import { logIn } from "./logIn.ts";
import { orInvalid } from "../http/contract/errors.ts";
import { readEmail } from "./emailAddress.ts";
import { createPasswords } from "./passwords.ts";
import { type ProvisionInput, type ProvisionOutcome, provisionOrganization } from "./provision.ts";
import { file, databaseTest } from "../../test/support/fixtures.ts";

const passwords = createPasswords();
const trace = { clientAddress: null, userAgent: null, requestId: "1" };

const it = databaseTest({ poolSize: 4 }).extend(
  "provision",
  file,
  ({ pool }) =>
    (input: Omit<ProvisionInput, "operator">): ReturnType<typeof provisionOrganization> =>
      provisionOrganization({ pool, passwords, nowMs: Date.now }, { ...input, operator: "ada" }),
);

function created(outcome: ProvisionOutcome): Extract<ProvisionOutcome, { outcome: "created" }> {
  expect(outcome.outcome).toBe("created");
  return outcome as Extract<ProvisionOutcome, { outcome: "created" }>;
}

function ownerAt(email: string) {
  return { address: orInvalid(readEmail(email)), password: "correct horse" };
}

describe("provisionOrganization", () => {
  it("creates an organization in the given billing state, with a key that is shown once", async ({
    provision,
    pool,
  }) => {
    const { organization, apiKey, user } = created(
      await provision({ name: "Acme", billingStatus: "exempt", owner: undefined }),
    );
    expect(organization).toMatchObject({
      name: "Acme",
      billing_status: "exempt",
      billing_grace_ends_at: null,
    });
    expect(user).toBeUndefined();
    const keys = await listKeys(pool, organization.id);
    expect(keys).toMatchObject([{ name: "default", prefix: apiKey!.slice(0, 12) }]);
  });

  it("creates an owner who can log in", async ({ provision, pool }) => {
    const owner = ownerAt("Owner@example.com");
    const { organization, user } = created(await provision({ name: "Acme", billingStatus: "active", owner }));
    expect(user).toMatchObject({
      email: "Owner@example.com",
      name: "Owner",
      org_id: organization.id,
      role: "admin",
    });
    const session = await logIn(
      { pool, passwords, nowMs: Date.now },
      { email: "owner@EXAMPLE.com", password: owner.password },
      trace,
    );
    expect(session).toMatchObject({ outcome: "started", user });
  });

  it("creates nothing for an owner who has an account", async ({ pool, provision }) => {
    const count = async (): Promise<unknown> =>
      (await pool.query("select count(*) as count from organizations")).rows[0];
    const owner = ownerAt("taken@example.com");
    await provision({ name: "first", billingStatus: "active", owner });
    const before = await count();
    expect(await provision({ name: "second", billingStatus: "active", owner })).toEqual({
      outcome: "email_taken",
    });
    expect(await count()).toEqual(before);
  });
});
