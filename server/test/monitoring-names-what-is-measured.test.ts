import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { until } from "./support/until.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { loopbackTargets } from "./support/fixtures.ts";

/** The published alert rules and dashboard use only metrics and labels that a process has. */

/** Labels that Prometheus adds, or that queries of histograms use. */
const addedLabels = ["job", "instance", "le"];

const it = nodeTest(loopbackTargets)
  .extend("metrics", file, async ({ node, account, receiver, url }) => {
    const target = await createWebhookTarget(node, account, receiver.url);
    await sendItems(node, account, target.id, 1);
    // Metrics with labels appear once something was counted.
    return until(
      async () => (await fetch(`${url}/metrics`)).text(),
      (text) => text.includes('outcome="delivered"') && /^postrider_hot_table_bytes \d/m.test(text),
    );
  })
  .extend(
    "labelNames",
    file,
    ({ metrics }) =>
      (): Set<string> =>
        new Set([...metrics.matchAll(/[{,]([a-z_]+)="/g)].map(([, label]) => label!)),
  )
  .extend("complaints", file, ({ metrics, labelNames }) => (name: string, selector: string): string[] => {
    const metric = name.replace(/_bucket$/, "");
    // Metrics of agents appear once an agent's task was polled.
    if (!metrics.includes(`# TYPE ${metric} `)) return [`there is no metric ${name}`];
    const labels = [...selector.matchAll(/([a-z_]+)(?:=~|!~|!=|=)/g)].map(([, label]) => label!);
    const known = labelNames();
    return labels
      .filter((label) => !addedLabels.includes(label) && !known.has(label))
      .map((label) => `${name} has no label ${label}`);
  });

it.for(["alerts.yml", "grafana.json"])("%s", async (file, { complaints, labelNames }) => {
  const text = await readFile(new URL(`../../docs/monitoring/${file}`, import.meta.url), "utf8");
  const named = [...text.matchAll(/\b((?:postrider|process)_[a-z_]+)(?:\{((?:[^{}]|\\")*)\})?/g)];
  expect(named.length).toBeGreaterThan(10);
  const missing = named.flatMap(([, name, selector]) => complaints(name!, selector ?? ""));
  const grouped = [...text.matchAll(/\bby \(([a-z_, ]+)\)/g)].flatMap(([, labels]) => labels!.split(/, */));
  const unknown = grouped.filter((label) => !addedLabels.includes(label) && !labelNames().has(label));
  expect([...missing, ...unknown.map((label) => `no metric has the label ${label}`)]).toEqual([]);
});

/** Metrics that only services with several processes, or with cells on servers, have. */
const metricsElsewhere = ["postrider_cell_server", "postrider_process_deaths_total", "postrider_processes"];

it("operations.md lists every metric of the service, and no other", async ({ metrics }) => {
  const text = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const cells = [...text.matchAll(/^\| (`postrider_[^|]+)\|/gm)].map(([, cell]) => cell!).join("\n");
  const listed = [...cells.matchAll(/`(postrider_[a-z_]+)/g)].map(([, name]) => name!);
  const measured = [...metrics.matchAll(/^# TYPE (postrider_\S+) /gm)].map(([, name]) => name!);
  expect(listed.toSorted()).toEqual([...measured, ...metricsElsewhere].toSorted());
});

/** The rules of `promtool check metrics` for names, help and units. */
it("every metric follows the naming rules of promtool", ({ metrics }) => {
  const types = new Map(
    [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]),
  );
  const helped = new Set([...metrics.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name!));
  expect(types.size).toBeGreaterThan(30);
  const rules: [complaint: string, isBroken: (name: string, type: string) => boolean][] = [
    ["has no help", (name) => !helped.has(name)],
    ["ends in _total, or should", (name, type) => (type === "counter") !== name.endsWith("_total")],
    ["ends in a reserved word", (name) => /_(?:bucket|count|sum)$/.test(name)],
    ["is not in a base unit", (name) => otherUnits.test(name)],
    ["has capitals or colons", (name) => /[A-Z:]/.test(name)],
  ];
  const complaints = rules.flatMap(([complaint, isBroken]) =>
    [...types].filter(([name, type]) => isBroken(name, type)).map(([name]) => `${name} ${complaint}`),
  );
  expect(complaints).toEqual([]);
});

const otherUnits =
  /_(?:ms|milliseconds|minutes?|hours?|days?|weeks?|kilobytes|megabytes|bits|percent)(?:_|$)/;
