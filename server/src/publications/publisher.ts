import { hash } from "node:crypto";
import type pg from "pg";
import { handOn, type ItemSink } from "../intake/handOn.ts";
import { hold, type IntakeLimits } from "../intake/intake.ts";
import type { Acceptance, HeldLease, NewContent, NewItem, RefusedItem } from "../items/item.ts";
import type { KindNumber } from "../items/kind.ts";
import { isTooSlow } from "../postgres/awayReason.ts";
import { byteaArray, idArray, textArray, uuidBytesArray } from "../postgres/hot/binaryArray.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import type { RowOf } from "../postgres/hot/functionCall.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import { createGroupCommit } from "../runtime/groupCommit.ts";
import { createUpgradeGate } from "./newerOnly.ts";

/** What a request publishes. */
export interface NewPublication extends NewContent {
  /** Null for the targets that belong to no customer. */
  customerUid: string | null;
}

/** One item of a publication. */
export interface PublishedItem {
  id: string;
  targetId: string;
  kind: KindNumber;
}

/** What became of a publication: accepted, accepted before, or refused. */
export type Published =
  | { outcome: "accepted" | "replayed"; id: string; items: PublishedItem[] }
  | { outcome: Refusal }
  | { outcome: "too_many_targets" }
  /** The target that takes no payload as large as this. */
  | { outcome: "too_large"; targetId: string };

type Refusal = Exclude<RefusedItem["outcome"], "too_large">;

/** Accepts publications and answers once they are durable. */
export interface Publisher {
  /** @throws {QueueFullError} when too many wait, {ApiError} 503 while an older process runs, or the database's error. */
  publish(publication: NewPublication): Promise<Published>;
  /** Resolves when everything taken so far is answered. */
  drained(): Promise<void>;
}

/** Items that one publication may become. */
export const maxItems = 1_000;
const maxBatch = 64;
const maxBatchBytes = 4 * 1024 * 1024;
const maxQueued = 2_000;
/** Items of a batch that are dispatched from memory; the others are claimed as they are due. */
const maxLeased = 512;
/** Asked for in place of a target, to hear whether there is room for those that are not known. */
const nobody = "0".repeat(32);

/** Publications through group commit, handed on as intake hands on its items. */
export function createPublisher(pool: pg.Pool, sink: ItemSink, limits: IntakeLimits): Publisher {
  const gate = createUpgradeGate(pool);
  const commits = createGroupCommit<NewPublication, Stored>({
    run: (batch) => publishItems(pool, batch, { sink, isOpen: gate.isOpen() }),
    committed: (batch, stored) => {
      batch.forEach((publication, index) => {
        const { published, acceptances } = stored[index]!;
        if (published === notOpen || published.outcome !== "unauthorized") sink.onKeyUsed(publication.key);
        if (published === notOpen || published.outcome !== "accepted") return;
        handOn(
          sink,
          published.items.map((item) => asNewItem(publication, item)),
          acceptances,
        );
      });
    },
    isPieceAtFault: (error) => !isDatabaseAway(error),
    isHopeless: isTooSlow,
    sizeOf: ({ payload }) => payload.length,
    maxBatch,
    maxBatchBytes,
    maxQueued,
    maxQueuedBytes: limits.maxQueuedBytes,
    ownerOf: ({ key }) => limits.ownerOf(key),
  });
  return {
    async publish(publication) {
      const { published } = await commits.add(publication);
      if (published !== notOpen) return published;
      // The sender is known by now: nobody else may keep older processes away.
      await gate.open();
      return (await commits.add(publication)).published as Published;
    },
    drained: () => commits.drained(),
  };
}

/** What would be accepted once publishing has begun. */
const notOpen = "not open";

interface Stored {
  published: Published | typeof notOpen;
  /** One for each item that is new. */
  acceptances: Acceptance[];
}

async function publishItems(
  pool: pg.Pool,
  batch: readonly NewPublication[],
  { sink, isOpen }: { sink: ItemSink; isOpen: boolean },
): Promise<Stored[]> {
  const lease = hold(sink.newLease());
  const rows = await callFunction(pool, "publish_items", {
    p_lease_ms: lease.durationMs,
    p_lease_token: lease.token,
    p_is_open: isOpen,
    p_room: sink.hasRoom(nobody) ? maxLeased : 0,
    p_full_target_ids: idArray(sink.fullTargets()),
    p_most_items: maxItems,
    p_key_hashes: byteaArray(batch.map(({ key }) => hash("sha256", key, "buffer"))),
    p_customers: textArray(batch.map(({ customerUid }) => customerUid)),
    p_payloads: byteaArray(batch.map(({ payload }) => payload)),
    p_event_types: textArray(batch.map(({ eventType }) => eventType)),
    p_correlation_ids: textArray(batch.map(({ correlationId }) => correlationId)),
    p_ordering_keys: textArray(batch.map(({ orderingKey }) => orderingKey)),
    p_key_digests: uuidBytesArray(batch.map(({ idempotencyKey }) => digestOf(idempotencyKey))),
    p_body_digests: uuidBytesArray(
      batch.map(({ idempotencyKey, payload }) => (idempotencyKey === null ? null : digestOf(payload))),
    ),
    p_trace_contexts: byteaArray(batch.map(({ traceContext }) => traceContext)),
  });
  const stored: Stored[] = [];
  for (const row of rows) stored[row.number! - 1] = readStored(row, lease);
  return stored;
}

const digestBytes = 16;

function digestOf(data: string | Buffer | null): Buffer | null {
  return data === null ? null : hash("sha256", data, "buffer").subarray(0, digestBytes);
}

/** The letters of `publish_items` for what it did not store. */
const refusals: Readonly<Record<string, Refusal | "too_many_targets">> = {
  u: "unauthorized",
  n: "not_found",
  c: "idempotency_conflict",
  s: "suspended",
  p: "pending",
  m: "too_many_targets",
};

function readStored(row: RowOf<"publish_items">, lease: HeldLease): Stored {
  const code = row.code!;
  if (code === "l")
    return { published: { outcome: "too_large", targetId: row.target_ids![0]! }, acceptances: [] };
  if (code === "o") return { published: notOpen, acceptances: [] };
  const refusal = refusals[code];
  if (refusal !== undefined) return { published: { outcome: refusal }, acceptances: [] };
  const items = (row.item_ids ?? []).map((id, index) => ({
    id: id!,
    targetId: row.target_ids![index]!,
    kind: row.kinds![index]! as KindNumber,
  }));
  const id = row.publication_id!;
  if (code === "r") return { published: { outcome: "replayed", id, items }, acceptances: [] };
  return {
    published: { outcome: "accepted", id, items },
    acceptances: items.map((item, index) =>
      acceptanceOf(item, row.states![index]!, row.versions![index]!, lease),
    ),
  };
}

function acceptanceOf(
  { id, kind }: PublishedItem,
  state: string,
  targetVersion: number,
  lease: HeldLease,
): Acceptance {
  if (kind === 2) return { outcome: "unread", id, kind };
  if (state === "l") return { outcome: "leased", id, kind, rowId: id, targetVersion, lease };
  return { outcome: state === "h" ? "held" : "due", id, kind };
}

function asNewItem(publication: NewPublication, { id, targetId }: PublishedItem): NewItem {
  const { key, payload, eventType, correlationId, orderingKey, idempotencyKey, traceContext } = publication;
  return {
    id,
    targetId,
    key,
    legacy: false,
    payload,
    eventType,
    correlationId,
    orderingKey,
    idempotencyKey,
    traceContext,
  };
}
