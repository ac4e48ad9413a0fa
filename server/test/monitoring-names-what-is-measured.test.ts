import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { startReceiver, type Receiver } from "./support/receiver.ts";
import { createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";

/** The rules and the dashboard that are handed out name no metric or label that a process does not have. */

let database: TestDatabase;
let node: TestNode;
let receiver: Receiver;
let metrics: string;

/** Labels that Prometheus or the reading of a histogram adds. */
const addedLabels = ["job", "instance", "le"];

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  node = createTestNode(database, {
    POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
    POSTRIDER_ALLOW_HTTP_TARGETS: "true",
  });
  const url = await node.listen();
  const account = await signUp(node);
  const target = await createWebhookTarget(node, account, receiver.url);
  await sendItems(node, account, target.id, 1);
  // Labelled metrics show once something was counted.
  metrics = await until(
    async () => (await fetch(`${url}/metrics`)).text(),
    (text) => text.includes('outcome="delivered"') && /^postrider_hot_table_bytes \d/m.test(text),
  );
});

afterAll(async () => {
  await node?.stop();
  await receiver?.stop();
  await database?.drop();
});

it.each(["alerts.yml", "grafana.json"])("%s", async (file) => {
  const text = await readFile(new URL(`../../docs/monitoring/${file}`, import.meta.url), "utf8");
  const named = [...text.matchAll(/\b((?:postrider|process)_[a-z_]+)(?:\{((?:[^{}]|\\")*)\})?/g)];
  expect(named.length).toBeGreaterThan(10);
  const missing = named.flatMap(([, name, selector]) => complaints(name!, selector ?? ""));
  const grouped = [...text.matchAll(/\bby \(([a-z_, ]+)\)/g)].flatMap(([, labels]) => labels!.split(/, */));
  const unknown = grouped.filter((label) => !addedLabels.includes(label) && !labelNames().has(label));
  expect([...missing, ...unknown.map((label) => `no metric has the label ${label}`)]).toEqual([]);
});

function complaints(name: string, selector: string): string[] {
  const metric = name.replace(/_bucket$/, "");
  // What is measured of agents shows once an agent's task was followed.
  if (!metrics.includes(`# TYPE ${metric} `)) return [`there is no metric ${name}`];
  const labels = [...selector.matchAll(/([a-z_]+)(?:=~|!~|!=|=)/g)].map(([, label]) => label!);
  const known = labelNames();
  return labels
    .filter((label) => !addedLabels.includes(label) && !known.has(label))
    .map((label) => `${name} has no label ${label}`);
}

function labelNames(): Set<string> {
  return new Set([...metrics.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label!));
}
