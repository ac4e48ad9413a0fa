import { setTimeout as delay } from "node:timers/promises";
import { bucketOf } from "../../../server/src/postgres/ids.ts";
import { createRandom } from "../../../server/test/support/billing/random.ts";
import { createAgentTarget } from "../../../server/test/support/agentTargets.ts";
import { createMailboxTarget, createWebhookTarget } from "../../../server/test/support/items.ts";
import { type Account, signUp } from "../../../server/test/support/testNode.ts";
import type { ServiceProcess } from "../../../server/test/support/serviceProcess.ts";
import type { Recorder } from "../history/history.ts";
import { mailboxLeaseSeconds, type World } from "../world/world.ts";
import { type Caller, createCaller } from "./caller.ts";
import { consumeUntil, drain, type Mailbox } from "./consumers.ts";
import { type Addresses, sendUntil } from "./senders.ts";

/** All clients of one organization in a run. */
export interface Clients {
  account: Account;
  addresses: Addresses;
  /** Secrets that no log may contain, by name. */
  secrets: Readonly<Record<string, string>>;
  /**
   * Requests one replay of all items delivered to a webhook so far, unless a service may run a version without
   * replays.
   */
  replay(): Promise<void>;
  /** Stops the consumers, and the senders once their items with idempotency keys are accepted. */
  stop(): Promise<void>;
  /** Acknowledges the remaining messages of the mailbox. */
  drainMailbox(isEmpty: () => Promise<boolean>): Promise<void>;
  /** Reads the status of each of these messages. */
  readMessages(ids: readonly string[]): Promise<void>;
}

export interface ClientsInput {
  seed: number;
  world: World;
  /** The number of the organization's cell. */
  cell: number;
  recorder: Recorder;
  /** Base URL of the receivers. */
  receiversUrl: string;
  senders: number;
  consumers: number;
  /** Whether a service may run the previous version, which has neither publications nor replays of many. */
  hasVersionBefore: boolean;
  /** Aborts every client at once. */
  givenUp: AbortSignal;
}

/** Short retry interval, and retries that last longer than any fault. */
const soonAgain = { retry_interval_seconds: 1, max_retries: 50 };
const customer = "shop";

export async function startClients({
  seed,
  world,
  cell,
  recorder,
  receiversUrl,
  senders,
  consumers,
  hasVersionBefore,
  givenUp,
}: ClientsInput): Promise<Clients> {
  const { account, addresses, secrets } = await signUpWithTargets(world, {
    receiversUrl,
    hasVersionBefore,
    cell,
  });
  const mailbox: Mailbox = { id: addresses.mailboxId, leaseMs: mailboxLeaseSeconds * 1000 };
  const input = { recorder, urls: world.services.map(({ url }) => url), apiKey: account.api_key, givenUp };
  const newCaller = (name: string, n: number): Caller =>
    createCaller(input, name, createRandom(seed * 1_000 + n));
  const stopping = new AbortController();
  let number = 0;
  const work = Promise.all([
    ...Array.from({ length: senders }, (_, n) =>
      sendUntil(stopping.signal, newCaller(`sender-${n}`, n), addresses, () => number++),
    ),
    ...Array.from({ length: consumers }, (_, n) =>
      consumeUntil(stopping.signal, newCaller(`consumer-${n}`, 100 + n), mailbox),
    ),
    ...(world.citus === undefined ? [] : [changeUntil(stopping.signal, newCaller("owner", 800), addresses)]),
  ]);
  // `stop` awaits this promise and reports its error; until then its rejection must not end the process.
  work.catch(() => undefined);
  const operator = newCaller("operator", 900);
  return {
    account,
    addresses,
    secrets,
    async replay() {
      if (hasVersionBefore) return;
      const targetId = addresses.webhookIds[0]!;
      const body = { filter: { target_id: targetId, status: "DELIVERED" }, rate_per_second: 50 };
      await operator.ask(
        { op: "replay", targetId },
        { method: "POST", path: "/api/v1/replays", body },
        ({ id }) => ({ id }),
      );
    },
    async stop() {
      stopping.abort();
      await work;
    },
    drainMailbox: (isEmpty) => drain(operator, mailbox, isEmpty),
    async readMessages(ids) {
      for (const id of ids) while (!(await isRead(operator, id))) await delay(againAfterMs);
    },
  };
}

const changePauseMs = 300;

/** Renames a webhook repeatedly; on Citus, each change is written on every node. */
async function changeUntil(stopping: AbortSignal, owner: Caller, { webhookIds }: Addresses): Promise<void> {
  const targetId = webhookIds[0]!;
  for (let n = 0; !stopping.aborted; n++) {
    const name = `name ${n}`;
    await owner.ask(
      { op: "change", targetId, name },
      { method: "PATCH", path: `/api/v1/targets/${targetId}`, body: { name } },
      () => ({}),
    );
    await delay(changePauseMs);
  }
}

/** Returns false when no answer stated the message's status; the caller then asks again. */
async function isRead(operator: Caller, id: string): Promise<boolean> {
  const { outcome } = await operator.ask(
    { op: "read", id },
    { method: "GET", path: `/api/v1/mailbox-messages/${id}` },
    ({ status }) => ({ state: status }),
  );
  return outcome !== "unknown";
}

/** Creates an organization with a target of each kind, before the first fault. */
export async function signUpWithTargets(
  world: World,
  { receiversUrl, hasVersionBefore, cell }: Pick<ClientsInput, "receiversUrl" | "hasVersionBefore" | "cell">,
): Promise<Pick<Clients, "account" | "addresses" | "secrets">> {
  const service = patientCaller(world.services[0].url);
  const account = await signUpInCell(plainCaller(world.services[0].url), cell, world.cells);
  const secrets: Record<string, string> = {
    "an API key": account.api_key,
    "a session's token": account.session_token,
    "a user's password": account.password,
  };
  const webhook = async (path: string, fields: object = {}): Promise<string> => {
    const url = receiversUrl + path;
    const { id, secret } = await createWebhookTarget(service, account, url, { ...soonAgain, ...fields });
    secrets[`the signing secret of ${path}`] = secret;
    return id;
  };
  const webhookIds = [await webhook("/prompt"), await webhook("/moody"), await webhook("/late")];
  if (!hasVersionBefore) {
    await service.call("PUT", `/api/v1/customers/${customer}`, { key: account.api_key, body: {} });
    for (const path of ["/shop-a", "/shop-b"]) await webhook(path, { customer_uid: customer });
  }
  const agentId = await createAgentTarget(
    service,
    account,
    `http://127.0.0.1:${world.wires.agent.port}/card.json`,
    soonAgain,
  );
  const mailboxId = await createMailboxTarget(service, account);
  return {
    account,
    secrets,
    addresses: { webhookIds, mailboxId, agentId, customer: hasVersionBefore ? null : customer },
  };
}

/** Signs up until the new organization is in this cell: the cell of an organization is random. */
export async function signUpInCell(
  service: Pick<ServiceProcess, "call">,
  cell: number,
  cells: number,
): Promise<Account> {
  for (;;) {
    const account = await signUpPatiently(service);
    if (cellNumberOf(account.user.org_id, cells) === cell) return account;
  }
}

/** Returns the number of an organization's cell; `cells` is the number of cells. */
export function cellNumberOf(orgId: string, cells: number): number {
  return Math.floor((bucketOf(orgId) * cells) / 256);
}

/** Signs up with a new address at each try, because a sign-up that was answered with 503 may have succeeded. */
async function signUpPatiently(service: Pick<ServiceProcess, "call">, tries = 50): Promise<Account> {
  try {
    return await signUp(service);
  } catch (error) {
    if (tries === 1) throw error;
    await delay(againAfterMs);
    return signUpPatiently(service, tries - 1);
  }
}

/** Repeats a request while the service answers 503, as it does on an overloaded machine. */
function patientCaller(url: string): Pick<ServiceProcess, "call"> {
  const service = plainCaller(url);
  return {
    async call(method, path, options) {
      for (;;) {
        const answer = await service.call(method, path, options);
        if (answer.status !== 503) return answer;
        await delay(againAfterMs);
      }
    },
  };
}

const againAfterMs = 500;

/** For requests that prepare the world before the first fault. */
export function plainCaller(url: string): Pick<ServiceProcess, "call"> {
  return {
    async call(method, path, { body, key, headers: more } = {}) {
      const response = await fetch(url + path, {
        method,
        headers: {
          "content-type": "application/json",
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...more,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const { status, headers } = response;
      return { status, body: await response.json(), headers: Object.fromEntries(headers) };
    },
  };
}
