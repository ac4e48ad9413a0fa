import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";

/** An agent as it is called: the interface in use and how the service proves itself to it. */
export interface Agent {
  targetId: string;
  version: number;
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

export type Agents = ReturnType<typeof createAgents>;

/** A credential as it is stored, with the origin that it is for, and the header that carries a key. */
interface StoredCredential {
  bearer: Buffer | null;
  origin: string | null;
  header: string | null;
}

const maxKnown = 1_000;

/** Keeps agents in memory; every change of a target or its card makes another version of it. */
export function createAgents(pool: pg.Pool, box: SecretBox) {
  const known = new Map<string, Agent>();
  return {
    /** The agent behind a target at this version or a later one; undefined when the target is gone. */
    async get(targetId: string, version: number): Promise<Agent | undefined> {
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
  const { rows } = await pool.query<Omit<Agent, "credential"> & StoredCredential>({
    name: "load_agent",
    text: `select t.id as "targetId", t.version, t.url, c.tenant, c.extensions,
             c.push_notifications as "pushNotifications", c.bearer,
             c.bearer_origin as origin, c.auth_header as header
           from targets t
           join agent_cards c on c.target_id = t.id
           where t.id = $1`,
    values: [targetId],
  });
  if (rows[0] === undefined) return undefined;
  const { bearer, origin, header, ...agent } = rows[0];
  return { ...agent, credential: openCredential(box, agent, { bearer, origin, header }) };
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
  { targetId, url }: Pick<Agent, "targetId" | "url">,
  { bearer, origin, header }: StoredCredential,
): Agent["credential"] {
  if (bearer === null) return { header: null, mask: noMask };
  // The last check: a card that names another origin is not stored without the owner's consent.
  if (new URL(url).origin !== origin) {
    return { fault: "the credential belongs to another origin than the agent's interface" };
  }
  try {
    const secret = box.open(bearer, bearerContext(targetId)).toString("utf8");
    const mask = createCredentialMask(secret);
    return header === null
      ? { header: ["authorization", `Bearer ${secret}`], mask }
      : { header: [header, secret], mask };
  } catch (error) {
    return { fault: `the agent's credential cannot be opened: ${(error as Error).message}` };
  }
}

/** Hides a credential in what an agent said, for records and answers. An agent may repeat what it was sent. */
export type CredentialMask = ReturnType<typeof createCredentialMask>;

const shown = "[token]";

/**
 * A mask for a credential. It is applied to texts that are stored and shown, and never before an answer is read: a credential
 * such as `id` would make a valid answer invalid.
 */
export function createCredentialMask(secret: string) {
  const forms = [secret, JSON.stringify(secret).slice(1, -1)];
  const text = (one: string): string => forms.reduce((masked, form) => masked.replaceAll(form, shown), one);
  const value = (one: unknown): unknown => {
    if (typeof one === "string") return text(one);
    if (Array.isArray(one)) return one.map(value);
    if (one === null || typeof one !== "object") return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, value(member)]));
  };
  return {
    text,
    /** All texts of a JSON value; names of fields stay, because they may be the protocol's. */
    value,
    bytes: (bytes: Buffer): Buffer =>
      forms.some((form) => bytes.includes(form))
        ? Buffer.from(text(bytes.toString("latin1")), "latin1")
        : bytes,
  };
}

/** For an agent that is called without a credential. */
export const noMask: CredentialMask = {
  text: (text) => text,
  bytes: (bytes) => bytes,
  value: (value) => value,
};
