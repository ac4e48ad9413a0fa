import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../../server/test/support/billing/random.ts";
import { type Agent, startAgent } from "../../../server/test/support/agent/startAgent.ts";
import type { Recorder } from "../history/history.ts";
import type { Installation } from "./postgres/installation.ts";
import { PostgresPair } from "./postgres/pair.ts";
import { type Receivers, startReceivers } from "./receivers.ts";
import { ServiceSlot, type Version } from "./serviceSlot.ts";
import { type Disks, provideDisks } from "./disks.ts";
import { startWire, type Wire } from "./wire/wire.ts";

/** Everything that a run can harm, each party behind wires of its own. */
export interface World {
  services: readonly [ServiceSlot, ServiceSlot];
  database: PostgresPair;
  disks: Disks;
  receivers: Receivers;
  agent: Agent;
  wires: { agent: Wire; receivers: Wire; replication: Wire };
  /** Ends every harm, and resolves once all parties serve. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorldInput {
  seed: number;
  recorder: Recorder;
  installation: Installation;
  /** A stopped cluster with the service's schema. */
  template: string;
  /** Holds the clusters, and is emptied by whoever made it. */
  dataFolder: string;
  logFolder: string;
  /** Whether disks have to be such as can be filled. */
  hasFullDisk: boolean;
  commands: Record<Version, string | undefined>;
}

/** Of a claim in the mailbox. */
export const mailboxLeaseSeconds = 2;

const serviceEnv = {
  // Leases outlive an attempt by 10 s: that is how long a dead process's items take to be sent by the other.
  POSTRIDER_DELIVERY_TIMEOUT_MS: "2000",
  POSTRIDER_MAILBOX_LEASE_SECONDS: String(mailboxLeaseSeconds),
};

export async function startWorld(input: WorldInput): Promise<World> {
  const { recorder } = input;
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  const newWire = async (): Promise<Wire> => {
    const wire = await startWire();
    stops.push(() => wire.stop());
    return wire;
  };
  try {
    const [replication, agentWire] = [await newWire(), await newWire()];
    const receivers = await startReceivers(recorder, createRandom(input.seed + 1_000_000));
    stops.push(() => receivers.stop());
    const slots = await Promise.all([1, 2].map((n) => newSlot(input, `service-${n}`, newWire)));
    const services = [slots[0]!, slots[1]!] as const;
    const disks = provideDisks(foldersIn(input.dataFolder), input.hasFullDisk);
    stops.push(() => disks.remove());
    const database = await PostgresPair.start({
      installation: input.installation,
      template: input.template,
      folders: disks.folders,
      logFolder: input.logFolder,
      replication,
      services: slots.map((slot) => slot.database),
    });
    stops.push(() => database.stop());
    stops.push(async () => {
      await Promise.all(slots.map((slot) => slot.close()));
    });
    const agent = await startAgent({ card: { supportedInterfaces: [interfaceAt(agentWire.port)] } });
    stops.push(() => agent.kill());
    agentWire.to = agent.port;
    await Promise.all(slots.map((slot) => slot.inTurn(() => slot.start())));
    const wires = { agent: agentWire, receivers: receivers.wire, replication };
    const all = [...Object.values(wires), ...slots.flatMap((slot) => [slot.clients, slot.database])];
    return {
      services,
      database,
      disks,
      receivers,
      agent,
      wires,
      async heal() {
        for (const wire of all) Object.assign(wire, { mode: "pass", delayMs: 0 });
        disks.clear();
        receivers.calm();
        await database.inTurn(() => database.isWhole());
        for (const slot of slots) slot.signal("SIGCONT");
        // An upgrade is brought to its end, too.
        await Promise.all(slots.map((slot) => slot.inTurn(() => slot.upgrade())));
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function newSlot(input: WorldInput, name: string, newWire: () => Promise<Wire>): Promise<ServiceSlot> {
  const { recorder, logFolder, commands } = input;
  return new ServiceSlot({
    name,
    recorder,
    logFolder,
    commands,
    env: serviceEnv,
    clients: await newWire(),
    database: await newWire(),
  });
}

function foldersIn(dataFolder: string): readonly [string, string] {
  const folders = [join(dataFolder, "one"), join(dataFolder, "two")] as const;
  for (const folder of folders) {
    mkdirSync(folder);
    // The servers may run as another user, who has to pass.
    chmodSync(folder, 0o711);
  }
  return folders;
}

function interfaceAt(port: number): object {
  return {
    url: `http://127.0.0.1:${port}/a2a`,
    protocolBinding: "HTTP+JSON",
    protocolVersion: "1.0",
    tenant: "",
  };
}
