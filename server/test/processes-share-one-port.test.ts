import { expect, onTestFinished } from "vitest";
import { startCollector } from "./support/collector.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { acceptedEvents } from "./support/items.ts";
import { exchangeBytes, type WireAnswer } from "./support/rawConnection.ts";
import { metricOf, servingOf, sumIn, twoProcesses } from "./support/workers.ts";
import { until } from "./support/until.ts";

const it = serviceTest({ ...twoProcesses, POSTRIDER_LOG_REQUESTS: "true" })
  /** Sends a request on a new connection, which the kernel gives to one of the processes. */
  .extend(
    "askAlone",
    file,
    ({ service, account }) =>
      (line: string, body = ""): Promise<WireAnswer> =>
        exchangeBytes(
          service.port,
          `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.api_key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
        ),
  );

const count = 60;
const accepted = 'postrider_http_requests_total{method="POST",route="/t/:target_id",status="202"}';

it("items that both processes accept are delivered once, billed once, and counted in one total", async ({
  askAlone,
  service,
  account,
  target,
  receiver,
}) => {
  const answers = await Promise.all(
    Array.from({ length: count }, () => askAlone(`POST /t/${target.id}`, "{}")),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  const ids = answers.map(({ body }) => (JSON.parse(body) as { id: string }).id);
  await receiver.arrivals(count);
  expect(receiver.received.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(await acceptedEvents(service, account)).toBe(count);
  // Each process is asked, and both return the same totals; a late process counts with its last values.
  const texts = await until(
    () => Promise.all(Array.from({ length: 12 }, () => askAlone("GET /metrics"))),
    (answered) => answered.every(({ body }) => sumIn(body, accepted) === count),
  );
  expect(sumIn(texts[0]!.body, "postrider_processes")).toBe(2);
  await until(
    () => metricOf(service, 'postrider_attempts_total{outcome="delivered"}'),
    (sum) => sum === count,
  );
  const pids = await until(
    () => new Set(service.output().match(/(?<="pid":)\d+(?=,.*"POST","route":"\/t\/:target_id")/g)),
    ({ size }) => size === 2,
  );
  expect(new Set([...pids].map(Number))).toEqual(new Set(servingOf(service)));
});

it("maintenance is done by one process", ({ service }) => {
  const started = service.output().match(/^\{.*"msg":"started"\}$/gm)!;
  expect(started.filter((line) => line.includes('"maintenance"'))).toHaveLength(1);
  expect(started.filter((line) => line.includes('"api","dispatcher"'))).toHaveLength(2);
});

it("a collector can distinguish the processes, under the configured service name", async ({ newService }) => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  await newService({ ...collector.env, OTEL_RESOURCE_ATTRIBUTES: "service.instance.id=shop" });
  await until(() => collector.instances.size === 2);
  expect(collector.instances).toEqual(new Set(["shop-0", "shop-1"]));
});

it("a process that does not answer delays no scrape, and its last values stay in the totals", async ({
  service,
  askAlone,
}) => {
  const before = await metricOf(service, accepted);
  const [frozen] = servingOf(service);
  process.kill(frozen!, "SIGSTOP");
  onTestFinished(() => void process.kill(frozen!, "SIGCONT"));
  const first = await Promise.any(Array.from({ length: 12 }, () => askAlone("GET /metrics")));
  expect(first.status).toBe(200);
  expect(sumIn(first.body, accepted)).toBe(before);
});
