import { type BenchService, createWebhooks, startService } from "../benchService.ts";
import { connections, host } from "../workload.ts";
import { targetCounts } from "./record.ts";
import { storeEvents } from "./storedEvents.ts";

/** A measured service with its targets. */
export interface Side {
  service: BenchService;
  storedEvents: number;
  /** Ids of targets whose receiver answers at once. */
  open: string[];
  /** Ids of targets whose receiver answers only in this side's turn. */
  held: string[];
  /** The number of this side's turn. */
  turn: number;
}

/** The number of the turn of the bare loop that a drain is compared with. */
export const bareTurn = 0;
export const sending = {
  /** As many as the loop without storage has. The default limit for all targets together, 512, leaves one target 57. */
  POSTRIDER_TARGET_CONCURRENCY: String(connections),
  /** Deliveries may wait for a turn of the receiver. */
  POSTRIDER_DELIVERY_TIMEOUT_MS: "60000",
};
const mostTargets = Math.max(...targetCounts);

export interface SideOptions {
  dataDir: string;
  receiverPort: number;
  turn: number;
  /** Events to store before the measurement. */
  storedEvents: number;
  onStored: (events: number) => void;
}

/** Starts a service that accepts items and delivers none, creates its targets, and stores the events. */
export async function startIntakeSide(options: SideOptions): Promise<Side> {
  const { dataDir, receiverPort, turn, onStored } = options;
  const service = await startService({ dataDir, roles: "api,maintenance" });
  const open = await createWebhooks(service, mostTargets, {
    name: "bench",
    url: `http://${host}:${receiverPort}/`,
  });
  const held = await createWebhooks(service, mostTargets, {
    name: "bench",
    url: `http://${host}:${receiverPort}/turns/${turn}`,
  });
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

/** Restarts the service with deliveries. Items that it accepted before are not delivered. */
export async function startDelivering(side: Side, dataDir: string): Promise<Side> {
  await side.service.sql("truncate deliveries");
  const { key } = side.service;
  await side.service.stop();
  const service = await startService({ dataDir, key, settings: sending });
  return { ...side, service };
}
