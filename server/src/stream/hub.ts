import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { Log } from "../telemetry/log.ts";
import { FrameRing, type NumberedFrame } from "./frameRing.ts";
import type { Frame } from "./gatherChanges.ts";
import { OpenStream, type StreamOptions } from "./openStream.ts";
import type { Caller } from "../http/contract/credentials.ts";
import type { Parts } from "../items/parts.ts";

export interface HubDeps extends Pick<Parts, "pool" | "nowMs"> {
  log: Pick<Log, "warn">;
  /** Distinguishes this node's ids from those of other nodes. */
  nodeTag: string;
  /** Called at the first stream of an organization; resolves when the organization's changes are reported. */
  begin: (orgId: string) => Promise<void>;
  /** Whether other nodes may have changes to report. */
  hasOthers: () => Promise<boolean>;
  /** Called when no stream of the organization has been open for a while. */
  end: (orgId: string) => void;
}

/** The streams of one organization, and the recent frames for clients that reconnect. */
interface Room {
  /**
   * Each stream with its number within a round of checks. The streams send their heartbeats spread over a round, because
   * thousands at once would block other work.
   */
  streams: Map<OpenStream, number>;
  ring: FrameRing;
  begun: Promise<void>;
  emptySinceMs: number | undefined;
}

/** Maximum number of streams on this node and of one organization, and of kept frames of one organization (up to 2 kB each). */
const most = { streams: 10_000, ofOrganization: 200, frames: 500 };
/** How long the frames of an organization are kept for clients that reconnect. */
const keptMs = 60_000;
/** After this time, all nodes know that an organization has streams: they look once a second. */
const knownAfterMs = 2_000;
/** The interval of checks, and the number of checks between two heartbeats of a stream, which keep proxies from closing it. */
const checks = { everyMs: 1_000, perBeat: 15 };

/** The open streams of this node. */
export class StreamHub {
  readonly #deps: HubDeps;
  readonly #rooms = new Map<string, Room>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Number of checks so far. */
  #checks = 0;
  #opened = 0;
  #checking: Promise<void> | undefined;

  constructor(deps: HubDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#beat();
      // The next check is skipped while the last one still waits for the database.
      this.#checking ??= this.#check([...this.#rooms.values()]).finally(() => (this.#checking = undefined));
    }, checks.everyMs);
  }

  size(): number {
    return this.#count;
  }

  /** Whether the limit of streams is reached for the node or the organization. */
  isFull(orgId: string): boolean {
    return this.#count >= most.streams || (this.#rooms.get(orgId)?.streams.size ?? 0) >= most.ofOrganization;
  }

  /** @param resumeFrom Id of the last frame that the client received, from this node or another. */
  async open(options: Omit<StreamOptions, "nodeTag">, resumeFrom: string | undefined): Promise<OpenStream> {
    const stream = new OpenStream({ ...options, nodeTag: this.#deps.nodeTag });
    const { orgId } = stream.caller;
    const room = this.#rooms.get(orgId) ?? this.#openRoom(orgId);
    room.streams.set(stream, this.#opened++ % checks.perBeat);
    room.emptySinceMs = undefined;
    this.#count++;
    stream.body.once("close", () => this.#close(room, stream));
    try {
      await room.begun;
    } catch (error) {
      stream.body.destroy();
      throw error;
    }
    // The service may have begun to stop meanwhile, or the credential may have been revoked: the stream has only its end.
    if (stream.body.writableEnded) return stream;
    const nowMs = this.#deps.nowMs();
    const missed = resumeFrom === undefined ? [] : room.ring.since(this.#readId(resumeFrom), nowMs);
    const id = room.ring.lastId(nowMs);
    if (missed === undefined) stream.reset(id, "unknown");
    // Missed frames have their own ids. The first id precedes them, so that a client that disconnects early does not skip them.
    else stream.begin(missed.length > 0 ? missed[0]!.id - 1 : id);
    stream.send(missed ?? []);
    return stream;
  }

  /** Sends frames to the organizations' streams whose credentials are still valid. */
  async deliver(frames: ReadonlyMap<string, readonly Frame[]>): Promise<void> {
    const nowMs = this.#deps.nowMs();
    const due: [Room, NumberedFrame[]][] = [];
    for (const [orgId, list] of frames) {
      const room = this.#rooms.get(orgId);
      if (room !== undefined) due.push([room, room.ring.add(list, nowMs)]);
    }
    if (due.length === 0) return;
    await this.#check(due.map(([room]) => room));
    for (const [room, numbered] of due) for (const stream of room.streams.keys()) stream.send(numbered);
  }

  /** Called after frames of other nodes were missed: tells all clients to read everything again. */
  forgetAll(): void {
    for (const room of this.#rooms.values()) this.#forget(room);
  }

  #forget({ ring, streams }: Room): void {
    const nowMs = this.#deps.nowMs();
    ring.forget(nowMs);
    for (const stream of streams.keys()) stream.reset(ring.lastId(nowMs), "unknown");
  }

  /** Other nodes send no changes of an organization until they know of its streams. Clients then read everything again. */
  async #forgetUnsent(room: Room): Promise<void> {
    await delay(knownAfterMs, undefined, { ref: false });
    if (room.streams.size > 0 && (await this.#deps.hasOthers())) this.#forget(room);
  }

  /** Parses `<moment>-<node>`. */
  #readId(text: string): { id: number; isOwn: boolean } {
    const [moment, node] = text.split("-");
    return { id: Number(moment), isOwn: node === this.#deps.nodeTag };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
    for (const { streams } of this.#rooms.values()) this.#end([...streams.keys()], "stopping");
  }

  #openRoom(orgId: string): Room {
    const room: Room = {
      streams: new Map(),
      ring: new FrameRing(most.frames, this.#deps.nowMs()),
      begun: this.#deps.begin(orgId),
      emptySinceMs: undefined,
    };
    // The caller that opens the stream awaits `begun` and handles its error.
    room.begun.then(
      () => this.#forgetUnsent(room).catch(() => undefined),
      () => this.#rooms.delete(orgId),
    );
    this.#rooms.set(orgId, room);
    return room;
  }

  #close(room: Room, stream: OpenStream): void {
    if (!room.streams.delete(stream)) return;
    this.#count--;
    if (room.streams.size === 0) room.emptySinceMs = this.#deps.nowMs();
  }

  /** Ends the streams of revoked credentials; ends all streams if the database cannot be asked. */
  async #check(rooms: readonly Room[]): Promise<void> {
    this.#closeEmptyRooms();
    const streams = rooms.flatMap((room) => [...room.streams.keys()]);
    if (streams.length === 0) return;
    try {
      this.#end(await revokedCallers(this.#deps.pool, streams), "unauthorized");
    } catch (error) {
      this.#deps.log.warn(
        { err: error, streams: streams.length },
        "could not check the streams' credentials",
      );
      this.#end(streams, "stopping");
    }
  }

  /** Ends streams. A stream leaves its room at once, because nothing may be written to it afterwards. */
  #end(streams: readonly OpenStream[], reason: "unauthorized" | "stopping"): void {
    for (const stream of streams) {
      const room = this.#rooms.get(stream.caller.orgId);
      if (room !== undefined) this.#close(room, stream);
      stream.end(reason);
    }
  }

  #closeEmptyRooms(): void {
    const limitMs = this.#deps.nowMs() - keptMs;
    for (const [orgId, { emptySinceMs }] of this.#rooms) {
      if (emptySinceMs === undefined || emptySinceMs > limitMs) continue;
      this.#rooms.delete(orgId);
      this.#deps.end(orgId);
    }
  }

  #beat(): void {
    const turn = this.#checks++ % checks.perBeat;
    for (const { streams } of this.#rooms.values()) {
      for (const [stream, ownTurn] of streams) if (ownTurn === turn) stream.beat();
    }
  }
}

/** Returns the streams whose caller's credential is no longer valid in the database. */
async function revokedCallers<T extends { caller: Caller }>(
  pool: pg.Pool,
  streams: readonly T[],
): Promise<T[]> {
  const keyIds = new Set<string>();
  const tokens = new Map<string, Buffer>();
  for (const { caller } of streams) {
    if (caller.kind === "apiKey") keyIds.add(caller.keyId);
    else tokens.set(caller.tokenHash.toString("hex"), caller.tokenHash);
  }
  const { rows } = await pool.query<{ keys: string[]; tokens: string[] }>({
    name: "check_streams",
    // Lateral joins with a limit: with a plain join, the planner might read all keys to check a few thousand.
    text: `select
             array(
               select replace(w.id::text, '-', '')
               from unnest($1::uuid[]) as w (id)
               left join lateral (select true as is_there from api_keys k where k.id = w.id limit 1) k on true
               where k.is_there is null
             ) as keys,
             array(
               select encode(w.hash, 'hex')
               from unnest($2::bytea[]) as w (hash)
               left join lateral (
                 select true as is_there
                 from sessions s
                 where s.token_hash = w.hash
                   and s.expires_at > extract(epoch from clock_timestamp())
                 limit 1
               ) s on true
               where s.is_there is null
             ) as tokens`,
    values: [[...keyIds], [...tokens.values()]],
  });
  const { keys, tokens: revokedTokens } = rows[0]!;
  if (keys.length + revokedTokens.length === 0) return [];
  const revoked = new Set([...keys, ...revokedTokens]);
  return streams.filter(({ caller }) =>
    revoked.has(caller.kind === "apiKey" ? caller.keyId : caller.tokenHash.toString("hex")),
  );
}
