import { describe, expect } from "vitest";
import { listKeys } from "./keyStore.ts";
import { logIn } from "./logIn.ts";
import { createPasswords } from "./passwords.ts";
import { type ProvisionInput, provisionOrganization } from "./provision.ts";
import { file, databaseTest } from "../../test/support/fixtures.ts";

const passwords = createPasswords();
const trace = { clientAddress: null, userAgent: null, requestId: "1" };

const it = databaseTest({ poolSize: 4 }).extend(
  "provision",
  file,
  ({ pool }) =>
    (input: ProvisionInput): ReturnType<typeof provisionOrganization> =>
      provisionOrganization({ pool, passwords, nowMs: Date.now }, input),
);

describe("provisionOrganization", () => {
  it("creates an organization in the asked billing state, with a key that is shown once", async ({
    provision,
    pool,
  }) => {
    const { organization, apiKey, user } = await provision({ name: "Acme", billingStatus: "exempt" });
    expect(organization).toMatchObject({
      name: "Acme",
      billing_status: "exempt",
      billing_grace_ends_at: null,
    });
    expect(user).toBeUndefined();
    const keys = await listKeys(pool, organization.id);
    expect(keys).toMatchObject([{ name: "default", prefix: apiKey.slice(0, 12) }]);
  });

  it("creates an owner who can log in", async ({ provision, pool }) => {
    const owner = { email: "Owner@example.com", password: "correct horse" };
    const { organization, user } = await provision({ name: "Acme", billingStatus: "active", owner });
    expect(user).toMatchObject({ email: owner.email, name: "Owner", org_id: organization.id, role: "admin" });
    const session = await logIn(
      { pool, passwords, nowMs: Date.now },
      { ...owner, email: "owner@EXAMPLE.com" },
      trace,
    );
    expect(session).toMatchObject({ user });
  });

  it("creates nothing for an owner who has an account, or whose address is none", async ({
    pool,
    provision,
  }) => {
    const count = async (): Promise<unknown> =>
      (await pool.query("select count(*) as count from organizations")).rows[0];
    const owner = { email: "taken@example.com", password: "correct horse" };
    await provision({ name: "first", billingStatus: "active", owner });
    const before = await count();
    await expect(provision({ name: "second", billingStatus: "active", owner })).rejects.toThrow(
      "the email has an account already",
    );
    await expect(
      provision({ name: "third", billingStatus: "active", owner: { ...owner, email: "nobody" } }),
    ).rejects.toThrow("email must be an address");
    expect(await count()).toEqual(before);
  });
});
