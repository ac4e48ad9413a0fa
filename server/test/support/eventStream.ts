import { get, type IncomingMessage } from "node:http";
import { until } from "./until.ts";

/** One server-sent event. */
export interface Told {
  id: string | undefined;
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
  data: any;
}

/** A stream of server-sent events, as a client reads it. */
export interface EventStream {
  status: number;
  headers: IncomingMessage["headers"];
  /** All events so far. */
  told: Told[];
  /** The last id seen, of an event or of a comment. */
  lastId: () => string;
  /** Resolves to the first past or future event that is wanted. */
  next: (isWanted: (told: Told) => boolean) => Promise<Told>;
  hasEnded: () => boolean;
  close: () => void;
}

/** Opens `/api/v1/stream` of a listening node; resolves when its first bytes have arrived. */
export async function openEventStream(
  baseUrl: string,
  headers: Record<string, string>,
  query: string = "",
): Promise<EventStream> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${baseUrl}/api/v1/stream${query}`, { headers, agent: false }, resolve).once("error", reject);
  });
  const told: Told[] = [];
  let lastId = "";
  let text = "";
  let isEnded = false;
  response.setEncoding("utf8");
  response.on("data", (piece: string) => {
    const blocks = (text + piece).split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      lastId = fields.get("id") ?? lastId;
      if (!fields.has("event")) continue;
      told.push({ id: fields.get("id"), event: fields.get("event")!, data: JSON.parse(fields.get("data")!) });
    }
  });
  response.once("close", () => (isEnded = true));
  if (response.statusCode === 200)
    await until(
      () => lastId,
      (id) => id !== "",
    );
  return {
    status: response.statusCode!,
    headers: response.headers,
    told,
    lastId: () => lastId,
    next: async (isWanted) =>
      (await until(
        () => told.find(isWanted),
        (found) => found !== undefined,
      ))!,
    hasEnded: () => isEnded,
    close: () => void response.destroy(),
  };
}
