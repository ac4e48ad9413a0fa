import { expect } from "vitest";
import { stageTest } from "./support/fixtures.ts";
import { until } from "./support/until.ts";

/** Prometheus' default scrape timeout. */
const scrapeTimeoutMs = 10_000;

async function readMetrics(url: string): Promise<string> {
  const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(scrapeTimeoutMs) });
  expect(answer.status).toBe(200);
  return answer.text();
}

stageTest.for(["1", "2"])(
  "with POSTRIDER_PROCESSES=%s metrics are served while the database is frozen, without values that were not read from it",
  async (processes, { start, proxy }) => {
    // The settings let a request wait longer than Prometheus does.
    const settings = { POSTRIDER_DATABASE_TIMEOUT_MS: "30000", POSTRIDER_PROCESSES: processes };
    const service = await start(settings, proxy.url);
    proxy.frozen = true;
    const frozen = await readMetrics(service.url);
    expect(frozen).toMatch(/^process_start_time_seconds \d/m);
    expect(frozen).not.toMatch(/^postrider_(?:oldest_due_seconds|mailbox_oldest_message_seconds)[ {]/m);
    proxy.frozen = false;
    await until(
      () => readMetrics(service.url),
      (text) => /^postrider_oldest_due_seconds 0$/m.test(text),
    );
  },
);
