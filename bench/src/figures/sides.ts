import { type BenchService, startService } from "../benchService.ts";
import { connections, host } from "../workload.ts";
import { targetCounts } from "./record.ts";
import { storeEvents } from "./storedEvents.ts";

/** A service that is measured, with its targets. */
export interface Side {
  service: BenchService;
  storedEvents: number;
  /** Their receiver answers at once. */
  open: string[];
  /** Their receiver answers when it is this side's turn, which has this number. */
  held: string[];
  turn: number;
}

/** The turn of the loop that sides are compared with in a drain. */
export const bareTurn = 0;
export const sending = {
  /** As many as the loop that stores nothing; by the rule for all targets together, one has 57 of them. */
  POSTRIDER_TARGET_CONCURRENCY: String(connections),
  /** Deliveries may wait for a turn of the receiver. */
  POSTRIDER_DELIVERY_TIMEOUT_MS: "60000",
};
const mostTargets = Math.max(...targetCounts);
const atATime = 16;

export interface SideOptions {
  dataDir: string;
  receiverPort: number;
  turn: number;
  /** How many events it has stored; none when 0. */
  storedEvents: number;
  onStored: (events: number) => void;
}

/** Starts a service that takes in and delivers nothing, makes its targets, and stores what is to be stored. */
export async function startIntakeSide(options: SideOptions): Promise<Side> {
  const { dataDir, receiverPort, turn, onStored } = options;
  const service = await startService({ dataDir, roles: "api,maintenance" });
  const open = await createTargets(service, `http://${host}:${receiverPort}/`);
  const held = await createTargets(service, `http://${host}:${receiverPort}/turns/${turn}`);
  let storedEvents = 0;
  if (options.storedEvents > 0) {
    const [organization] = await service.sql<{ id: string }>(
      "select replace(org_id::text, '-', '') as id from targets limit 1",
    );
    const owners = { orgId: organization!.id, targets: [...open, ...held] };
    storedEvents = await storeEvents(service.connection, owners, options.storedEvents, onStored);
  }
  return { service, storedEvents, open, held, turn };
}

/** Starts it again so that it delivers as well. What it took in meanwhile is not delivered. */
export async function startDelivering(side: Side, dataDir: string): Promise<Side> {
  await side.service.sql("truncate deliveries");
  const { key } = side.service;
  await side.service.stop();
  const service = await startService({ dataDir, key, settings: sending });
  return { ...side, service };
}

async function createTargets(service: BenchService, url: string): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const create = async (): Promise<void> => {
    while (next++ < mostTargets) {
      ids.push(await service.createTarget({ kind: "webhook", name: "bench", url }));
    }
  };
  await Promise.all(Array.from({ length: atATime }, create));
  return ids;
}
