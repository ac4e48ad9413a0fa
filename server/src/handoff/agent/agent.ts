import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import { createCredentialMask, type CredentialMask, noMask } from "./credentialMask.ts";

/** An agent as it is called: the interface in use and how the service proves itself to it. */
export interface Agent {
  targetId: string;
  orgId: string;
  version: number;
  /** The interface's URL. */
  url: string;
  tenant: string | null;
  extensions: string[];
  pushNotifications: boolean;
  /** How the service proves itself; why the credential must not or cannot be used otherwise. */
  credential: AgentCredential | { fault: string };
}

/** The header that carries a credential, null without one, and what hides it in what the agent says. */
export interface AgentCredential {
  header: readonly [name: string, value: string] | null;
  mask: CredentialMask;
}

/** Agents by target, each at the version asked for or a later one. */
export interface Agents {
  /** Undefined when the target is gone. */
  get(targetId: string, version: number): Promise<Agent | undefined>;
}

interface Row {
  id: string;
  org_id: string;
  version: number;
  url: string;
  tenant: string | null;
  extensions: string[];
  push_notifications: boolean;
  bearer: Buffer | null;
  bearer_origin: string | null;
  auth_header: string | null;
}

const maxKnown = 1_000;

/** Keeps agents in memory; every change of a target or its card makes another version of it. */
export function createAgents(pool: pg.Pool, box: SecretBox): Agents {
  const known = new Map<string, Agent>();
  return {
    async get(targetId, version) {
      const present = known.get(targetId);
      if (present !== undefined && present.version >= version) return present;
      const agent = await loadAgent(pool, box, targetId);
      known.delete(targetId);
      if (agent === undefined) return undefined;
      if (known.size >= maxKnown) known.delete(known.keys().next().value!);
      known.set(targetId, agent);
      return agent;
    },
  };
}

/** The agent behind a target as it is now; undefined when there is no such a2a target. */
export async function loadAgent(pool: pg.Pool, box: SecretBox, targetId: string): Promise<Agent | undefined> {
  const { rows } = await pool.query<Row>({
    name: "load_agent",
    text: `select t.id, t.org_id, t.version, t.url, c.tenant, c.extensions, c.push_notifications, c.bearer,
             c.bearer_origin, c.auth_header
           from targets t
           join agent_cards c on c.target_id = t.id
           where t.id = $1`,
    values: [targetId],
  });
  const row = rows[0];
  return (
    row && {
      targetId: row.id,
      orgId: row.org_id,
      version: row.version,
      url: row.url,
      tenant: row.tenant,
      extensions: row.extensions,
      pushNotifications: row.push_notifications,
      credential: openCredential(box, row),
    }
  );
}

/** Hides an agent's credential in what it says. */
export function maskOf({ credential }: Pick<Agent, "credential">): CredentialMask {
  return "fault" in credential ? noMask : credential.mask;
}

/** The context that a sealed bearer is bound to, so that it cannot be opened as anything else. */
export function bearerContext(targetId: string): string {
  return `a2a-bearer:${targetId}`;
}

function openCredential(
  box: SecretBox,
  { id, url, bearer, bearer_origin, auth_header }: Row,
): Agent["credential"] {
  if (bearer === null) return { header: null, mask: noMask };
  // The last check: a card that names another origin is not stored without the owner's consent.
  if (new URL(url).origin !== bearer_origin) {
    return { fault: "the credential belongs to another origin than the agent's interface" };
  }
  try {
    const secret = box.open(bearer, bearerContext(id)).toString("utf8");
    const mask = createCredentialMask([secret]);
    return auth_header === null
      ? { header: ["authorization", `Bearer ${secret}`], mask }
      : { header: [auth_header, secret], mask };
  } catch (error) {
    return { fault: `the agent's credential cannot be opened: ${(error as Error).message}` };
  }
}
