import { setTimeout as delay } from "node:timers/promises";

const pageSize = 100;
const againAfterMs = 500;

/**
 * The status of each event, by id, as the service lists them.
 * @param patienceMs For how long the service may answer a page with 503, as it does on an overloaded machine.
 */
export async function listedStatuses(
  url: string,
  apiKey: string,
  patienceMs = 120_000,
): Promise<Map<string, string>> {
  const statuses = new Map<string, string>();
  for (let after = "0".repeat(32); ;) {
    const query = `limit=${pageSize}&order=asc&after=${after}`;
    const { events } = await readPage(`${url}/api/v1/events?${query}`, apiKey, patienceMs);
    for (const { id, status } of events) statuses.set(id, status);
    if (events.length < pageSize) return statuses;
    after = events.at(-1)!.id;
  }
}

interface Page {
  events: { id: string; status: string }[];
}

async function readPage(url: string, apiKey: string, patienceMs: number): Promise<Page> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
    const text = await response.text();
    if (response.status === 200) return JSON.parse(text) as Page;
    if (response.status !== 503) throw new Error(`the list of events: ${response.status} ${text}`);
    if (Date.now() >= deadline)
      throw new Error(`the list of events: 503 for more than ${patienceMs / 1_000} s, last ${text}`);
    await delay(againAfterMs);
  }
}
