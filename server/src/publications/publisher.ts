import { hash } from "node:crypto";
import type pg from "pg";
import { handOn, type ItemSink } from "../intake/handOn.ts";
import { hold, type IntakeLimits } from "../intake/intake.ts";
import type { Acceptance, HeldLease, NewContent, NewItem, RefusedItem } from "../items/item.ts";
import type { KindNumber } from "../items/kind.ts";
import { awayReason, isTooSlow } from "../postgres/awayReason.ts";
import {
  boolArray,
  byteaArray,
  idArray,
  int2Array,
  int4Array,
  textArray,
  uuidArray,
  uuidBytesArray,
} from "../postgres/hot/binaryArray.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { withPartitions } from "../postgres/partitions.ts";
import type { RowOf } from "../postgres/hot/functionCall.ts";
import { createGroupCommit } from "../runtime/groupCommit.ts";
import { ApiError } from "../http/contract/errors.ts";
import { judge, openFilters } from "../filters/filter.ts";
import { createUpgradeGate } from "../items/upgradeGate.ts";

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
/** As many as there are items in a row of `deliveries`, which has one of each; with all their items below 65,536 (`numbered_id`). */
const maxBatch = 64;
const maxBatchBytes = 4 * 1024 * 1024;
const maxQueued = 2_000;
/** Items of a batch that are dispatched from memory; the others are claimed as they are due. */
const maxLeased = 512;
/** Asked for in place of a target, to hear whether there is room for those that are not known. */
const nobody = "0".repeat(32);

/** Publications through group commit, handed on as intake hands on its items. */
export function createPublisher(pool: pg.Pool, sink: ItemSink, limits: IntakeLimits): Publisher {
  const gate = createUpgradeGate(pool, { migration: publicationsMigration, cannot: "deliver publications" });
  const commits = createGroupCommit<JudgedPublication, Stored>({
    run: (batch) => publishItems(pool, batch, { sink, isOpen: gate.isOpen(), clock: limits.clock }),
    committed: (batch, stored) => {
      batch.forEach((publication, index) => {
        const { published, acceptances } = stored[index]!;
        if (published.outcome !== "unauthorized") sink.onKeyUsed(publication.key);
        if (published.outcome !== "accepted") return;
        handOn(
          sink,
          published.items.map((item) => asNewItem(publication, item)),
          acceptances,
        );
      });
    },
    isPieceAtFault: (error) => awayReason(error) === undefined,
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
      const owner = `${limits.ownerOf(publication.key)}/${publication.customerUid ?? ""}`;
      let verdicts = await judge(publication, limits.filters.of(owner));
      for (let tries = 0; tries < mostTries; tries++) {
        const { published } = await commits.add({ ...publication, verdicts });
        if (published.outcome === "unjudged") {
          const filters = await openFilters(published.filters);
          limits.filters.add(owner, filters);
          verdicts = new Map([...verdicts, ...(await judge(publication, filters))]);
          // The sender is known by now: nobody else may keep older processes away.
        } else if (published.outcome === "not_open") await gate.open();
        else return published;
      }
      throw new ApiError(503, "filters of its targets change too often: try again", { retryAfterSeconds: 1 });
    },
    drained: () => commits.drained(),
  };
}

/** The migration from which on a process finds the payload of a publication. */
const publicationsMigration = 31;
/** Each time a thousand targets more may be found to have filters that were not known. */
const mostTries = 30;

/** With what the filters that are known say of it, by their digests. */
interface JudgedPublication extends NewPublication {
  verdicts: ReadonlyMap<string, boolean>;
}

/** What was not stored, and would be once publishing has begun, or once it is judged by these filters. */
type NotYet = { outcome: "not_open" } | { outcome: "unjudged"; filters: string[] };

interface Stored {
  published: Published | NotYet;
  /** One for each item that is new. */
  acceptances: Acceptance[];
}

async function publishItems(
  pool: pg.Pool,
  batch: readonly JudgedPublication[],
  { sink, isOpen, clock }: { sink: ItemSink; isOpen: boolean; clock: IntakeLimits["clock"] },
): Promise<Stored[]> {
  clock?.refuseApart();
  const lease = hold(sink.newLease());
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "publish_items", {
      p_lease_ms: lease.durationMs,
      p_lease_token: lease.token,
      p_is_open: isOpen,
      p_room: sink.hasRoom(nobody) ? maxLeased : 0,
      p_full_target_ids: idArray(sink.fullTargets()),
      p_most_items: maxItems,
      p_key_hashes: byteaArray(batch.map(({ key }) => hash("sha256", key, "buffer"))),
      p_customers: textArray(batch.map(({ customerUid }) => customerUid)),
      p_payloads: byteaArray(batch.map(({ payload }) => payload)),
      p_sizes: int4Array(batch.map(({ payload }) => payload.length)),
      p_event_types: textArray(batch.map(({ eventType }) => eventType)),
      p_correlation_ids: textArray(batch.map(({ correlationId }) => correlationId)),
      p_ordering_keys: textArray(batch.map(({ orderingKey }) => orderingKey)),
      p_key_digests: uuidBytesArray(batch.map(({ idempotencyKey }) => digestOf(idempotencyKey))),
      p_body_digests: uuidBytesArray(
        batch.map(({ idempotencyKey, payload }) => (idempotencyKey === null ? null : digestOf(payload))),
      ),
      p_trace_contexts: byteaArray(batch.map(({ traceContext }) => traceContext)),
      ...verdictArrays(batch),
    }),
  );
  const stored: Stored[] = [];
  for (const row of rows) stored[row.number! - 1] = readStored(row, lease);
  return stored;
}

function verdictArrays(batch: readonly JudgedPublication[]) {
  const verdicts = batch.flatMap((publication, index) =>
    [...publication.verdicts].map(([digest, isPassed]) => ({ number: index + 1, digest, isPassed })),
  );
  if (verdicts.length === 0)
    return { p_verdict_numbers: null, p_verdict_filters: null, p_verdict_passed: null };
  return {
    p_verdict_numbers: int2Array(verdicts.map(({ number }) => number)),
    p_verdict_filters: uuidArray(verdicts.map(({ digest }) => digest)),
    p_verdict_passed: boolArray(verdicts.map(({ isPassed }) => isPassed)),
  };
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
  if (code === "o") return { published: { outcome: "not_open" }, acceptances: [] };
  if (code === "v") {
    const filters = (row.filters ?? []).filter((filter) => filter !== null);
    return { published: { outcome: "unjudged", filters }, acceptances: [] };
  }
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
      acceptanceOf(item, {
        state: row.states![index]!,
        targetVersion: row.versions![index]!,
        rowId: row.row_ids![index]!,
        lease,
      }),
    ),
  };
}

/** What becomes of an item at once, as `publish_items` says it. */
interface Placed {
  /** A letter. */
  state: string;
  targetVersion: number;
  rowId: string | null;
  lease: HeldLease;
}

function acceptanceOf(
  { id, kind }: PublishedItem,
  { state, targetVersion, rowId, lease }: Placed,
): Acceptance {
  if (kind === 2) return { outcome: "unread", id, kind };
  if (state === "l") return { outcome: "leased", id, kind, rowId: rowId!, targetVersion, lease };
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
    verdict: null,
  };
}
