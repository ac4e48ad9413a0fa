import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import { secretForms } from "../../items/secretForms.ts";

/** An agent: the interface to call and the credential to send. */
export interface Agent {
  targetId: string;
  version: number;
  url: string;
  tenant: string | null;
  extensions: string[];
  pushNotifications: boolean;
  /** The credential, or the reason why it must not or cannot be used. */
  credential: AgentCredential | { fault: string };
}

/** The header with the credential (null if there is none), and the mask that hides the credential in the agent's texts. */
export interface AgentCredential {
  header: readonly [name: string, value: string] | null;
  mask: CredentialMask;
}

export type Agents = ReturnType<typeof createAgents>;

/** A stored credential with the origin that it is for, and the name of the header of an API key. */
interface StoredCredential {
  bearer: Buffer | null;
  origin: string | null;
  header: string | null;
}

const maxKnown = 1_000;

/** Caches agents in memory. Every change of a target or its card increases the target's version. */
export function createAgents(pool: pg.Pool, box: SecretBox) {
  const known = new Map<string, Agent>();
  return {
    /** Returns the agent behind a target at this version or a later one; undefined if the target was deleted. */
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

/** Reads the agent behind a target from the database; undefined if there is no such a2a target. */
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

/** The mask that hides an agent's credential in its texts. */
export function maskOf({ credential }: Pick<Agent, "credential">): CredentialMask {
  return "fault" in credential ? noMask : credential.mask;
}

/** The context that a sealed credential is bound to, so that it cannot be opened for another purpose. */
export function bearerContext(targetId: string): string {
  return `a2a-bearer:${targetId}`;
}

function openCredential(
  box: SecretBox,
  { targetId, url }: Pick<Agent, "targetId" | "url">,
  { bearer, origin, header }: StoredCredential,
): Agent["credential"] {
  if (bearer === null) return { header: null, mask: noMask };
  // The last check; a card with another origin is not stored without the owner's consent.
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

/** Hides a credential in an agent's texts before they are stored or shown, because an agent may repeat what it received. */
export type CredentialMask = ReturnType<typeof createCredentialMask>;

const shown = "[token]";

/**
 * Creates a mask for a credential. Apply it only to texts that are stored or shown, never to an answer before it is parsed:
 * masking a credential such as `id` would make a valid answer invalid.
 */
export function createCredentialMask(secret: string) {
  const forms = secretForms(secret);
  const text = (one: string): string => forms.reduce((masked, form) => masked.replaceAll(form, shown), one);
  const value = (one: unknown): unknown => {
    if (typeof one === "string") return text(one);
    if (Array.isArray(one)) return one.map(value);
    if (one === null || typeof one !== "object") return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, value(member)]));
  };
  return {
    text,
    /** Masks all strings of a JSON value, but no field names, because these may belong to the protocol. */
    value,
    bytes: (bytes: Buffer): Buffer =>
      forms.some((form) => bytes.includes(form))
        ? Buffer.from(text(bytes.toString("latin1")), "latin1")
        : bytes,
  };
}

/** The mask of an agent without a credential. */
export const noMask: CredentialMask = {
  text: (text) => text,
  bytes: (bytes) => bytes,
  value: (value) => value,
};
