import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Agent, startAgent } from "../../../server/test/support/agent/startAgent.ts";
import { createRandom } from "../../../server/test/support/billing/random.ts";
import type { ProcessEnd, Recorder } from "../history/history.ts";
import { CitusCluster } from "./citus/citusCluster.ts";
import type { Installation } from "./postgres/installation.ts";
import type { Database } from "./postgres/database.ts";
import { type PairInput, PostgresPair } from "./postgres/pair.ts";
import { type Receivers, startReceivers } from "./receivers.ts";
import { ServiceSlot, type SlotInput, type Version } from "./serviceSlot.ts";
import { type Disks, provideDisks } from "./disks.ts";
import { startWire, type Wire } from "./wire/wire.ts";

/** All parties of a run, each reached through wires of its own. Episodes are played in it one after another. */
export interface World {
  services: readonly [ServiceSlot, ServiceSlot];
  database: Database;
  /** The database if it is a Citus cluster. */
  citus: CitusCluster | undefined;
  disks: Disks;
  receivers: Receivers;
  agent: Agent;
  wires: { agent: Wire; receivers: Wire; replication: Wire };
  /** Number of cells of the data plane. */
  cells: number;
  /**
   * Begins an episode: from now on observations go to its recorders, ends of processes go to the first recorder,
   * and clocks are right.
   * @returns the base URL of the receivers for each recorder.
   */
  begin(seed: number, recorders: readonly Recorder[]): Promise<string[]>;
  /** Ends every fault except answers that are still to be swallowed, and resolves once all parties serve. */
  heal(): Promise<void>;
  /** Cancels swallows that have not happened yet. */
  swallowNothing(): void;
  stop(): Promise<void>;
}

export interface WorldInput {
  installation: Installation;
  /** A stopped cluster with the service's schema; with Citus, one with an empty database. */
  template: string;
  /** Folder for the database clusters; its creator empties it. */
  dataFolder: string;
  logFolder: string;
  /** Whether the disks must be fillable. */
  hasFullDisk: boolean;
  cells: number;
  isOnCitus: boolean;
  commands: Record<Version, string | undefined>;
}

export const mailboxLeaseSeconds = 2;

const serviceEnv = {
  // A lease lasts 10 s longer than an attempt: the other process sends a dead process's items after that time.
  POSTRIDER_DELIVERY_TIMEOUT_MS: "2000",
  POSTRIDER_MAILBOX_LEASE_SECONDS: String(mailboxLeaseSeconds),
};

export async function startWorld(input: WorldInput): Promise<World> {
  const stops: (() => Promise<void>)[] = [];
  let recorder: Recorder | undefined;
  /** Processes that end before the first recorder exists. */
  const earlyEnds: Omit<ProcessEnd, "atMs">[] = [];
  const onEnd = (end: Omit<ProcessEnd, "atMs">): void => {
    if (recorder === undefined) earlyEnds.push(end);
    else recorder.ended(end);
  };
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  const wires: Wire[] = [];
  const newWire = async (): Promise<Wire> => {
    const wire = await startWire();
    wires.push(wire);
    stops.push(() => wire.stop());
    return wire;
  };
  try {
    const [replication, agentWire] = [await newWire(), await newWire()];
    const receivers = await startReceivers();
    stops.push(() => receivers.stop());
    const slots = await Promise.all([1, 2].map((n) => newSlot({ ...input, onEnd }, `service-${n}`, newWire)));
    const services = [slots[0]!, slots[1]!] as const;
    const disks = provideDisks(foldersIn(input.dataFolder), input.hasFullDisk);
    stops.push(() => disks.remove());
    const { folders } = disks;
    const toDatabase = {
      ...input,
      folders,
      replication,
      services: slots.map((slot) => slot.database),
      newWire,
    };
    const citus = input.isOnCitus ? await CitusCluster.start(toDatabase) : undefined;
    const database = citus ?? (await startPair(toDatabase));
    stops.push(() => database.stop());
    stops.push(async () => {
      await Promise.all(slots.map((slot) => slot.close()));
    });
    const serving = Promise.all(slots.map((slot) => slot.inTurn(() => slot.start())));
    // Awaited below.
    serving.catch(() => undefined);
    const agent = await startAgent({ card: { supportedInterfaces: [interfaceAt(agentWire.port)] } });
    stops.push(() => agent.kill());
    agentWire.to = agent.port;
    await serving;
    const all = [...wires, receivers.wire];
    return {
      services,
      database,
      citus,
      disks,
      receivers,
      agent,
      wires: { agent: agentWire, receivers: receivers.wire, replication },
      cells: input.cells,
      async begin(seed, recorders) {
        const first = recorders[0]!;
        recorder = first;
        for (const end of earlyEnds.splice(0)) first.ended(end);
        await Promise.all(slots.map((slot) => slot.inTurn(() => slot.rightClock())));
        return recorders.map((own, n) => {
          const random = createRandom(seed + (n + 1) * 1_000_000);
          return receivers.open(`seed-${seed}-${n}`, { recorder: own, random });
        });
      },
      async heal() {
        for (const wire of all) Object.assign(wire, { mode: "pass", delayMs: 0 });
        disks.clear();
        receivers.calm();
        await database.isWhole();
        for (const slot of slots) slot.signal("SIGCONT");
        // Finishes a started upgrade as well.
        await Promise.all(slots.map((slot) => slot.inTurn(() => slot.upgrade())));
      },
      swallowNothing() {
        for (const wire of all) wire.swallowNothing();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startPair({
  services,
  ...input
}: Pick<PairInput, "installation" | "template" | "folders" | "logFolder" | "replication"> & {
  services: readonly Wire[];
}): Promise<PostgresPair> {
  return PostgresPair.start({
    ...input,
    name: "postgresql",
    settings: {},
    wiresTo: () => services,
    onPromoted: () => Promise.resolve(),
  });
}

async function newSlot(
  { logFolder, commands, cells, onEnd }: WorldInput & Pick<SlotInput, "onEnd">,
  name: string,
  newWire: () => Promise<Wire>,
): Promise<ServiceSlot> {
  return new ServiceSlot({
    name,
    onEnd,
    logFolder,
    commands,
    env: { ...serviceEnv, ...(cells > 1 && { POSTRIDER_CELLS: String(cells) }) },
    clients: await newWire(),
    database: await newWire(),
  });
}

function foldersIn(dataFolder: string): readonly [string, string] {
  const folders = [join(dataFolder, "one"), join(dataFolder, "two")] as const;
  for (const folder of folders) {
    mkdirSync(folder);
    // The servers may run as another user, who must be able to enter the folder.
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
