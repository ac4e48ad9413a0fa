import { randomBytes } from "node:crypto";
import type { Role } from "../../src/http/contract/access.ts";
import { type Account, type TestNode, newEmail } from "./testNode.ts";

/** A member who accepted an invitation. */
export interface Joined {
  user: Account["user"];
  session_token: string;
  password: string;
}

/** Invites a new user to the account's organization, and accepts the invitation. */
export async function join(node: Pick<TestNode, "call">, account: Account, role: Role): Promise<Joined> {
  const invited = await node.call("POST", "/api/v1/invitations", {
    session: account.session_token,
    body: { role },
  });
  if (invited.status !== 200)
    throw new Error(`invitation: ${invited.status} ${JSON.stringify(invited.body)}`);
  const password = randomBytes(12).toString("hex");
  const body = { token: invited.body.token, email: newEmail(), password };
  const accepted = await node.call("POST", "/api/v1/invitations/accept", { body });
  if (accepted.body.user === undefined) {
    throw new Error(`acceptance: ${accepted.status} ${JSON.stringify(accepted.body)}`);
  }
  return { ...accepted.body, password };
}
