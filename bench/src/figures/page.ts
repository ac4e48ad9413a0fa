import { perSecond, whole } from "../figures.ts";
import { type FiguresRecord, type MatrixFigure, type Measure, measures } from "./record.ts";
import { bytesOf, countOf, msOf, percentOf, rateOf, ratioOf, storedOf, targetsOf, titles } from "./words.ts";

/**
 * Returns the page with the blocks between its markers `<!-- figures: NAME -->` and `<!-- end of figures -->` made from the
 * record.
 * @throws when the page has a block with an unknown name, or lacks a block.
 */
export function pageOf(page: string, record: FiguresRecord): string {
  const blocks = blocksOf(record);
  const found: string[] = [];
  const written = page.replaceAll(marked, (_all, start: string, name: string, end: string) => {
    const block = blocks[name];
    if (block === undefined) throw new Error(`there are no figures "${name}"`);
    found.push(name);
    return `${start}\n\n${block}\n\n${end}`;
  });
  const missing = Object.keys(blocks).filter((name) => !found.includes(name));
  if (missing.length > 0) throw new Error(`the page has no markers for the figures ${missing.join(", ")}`);
  return written;
}

const marked = /(<!-- figures: ([\w-]+) -->)[^]*?(<!-- end of figures -->)/g;

function blocksOf(record: FiguresRecord): Record<string, string> {
  return {
    run: runText(record),
    ...Object.fromEntries(measures.map((measure) => [measure, matrixBlock(record, measure)])),
    neighbours: neighboursBlock(record),
    publications: publicationsBlock(record),
    besides: besidesBlock(record),
  };
}

function runText({ run, date, commit, machine, size, matrix }: FiguresRecord): string {
  const kind = run === "full" ? "Run" : "**A quick run, for a first look,**";
  const stolen = matrix.map((one) => one.stolen).toSorted((one, other) => one - other);
  return [
    `${kind} of ${date} at commit \`${commit}\`: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB of memory, ${machine.system},`,
    `Node ${machine.node.slice(1)}, embedded PostgreSQL ${machine.postgres}. The disk made ${whole(machine.flushesPerSecond)} flushes of 8 KiB per second, one after the other, and`,
    `wrote ${whole(machine.flushedMegabytesPerSecond)} MB per second in writes of 1 MiB, each flushed. Other virtual machines took at most ${percentOf(stolen.at(-1) ?? 0)} of the processor time`,
    `(median ${percentOf(stolen[stolen.length >> 1] ?? 0)}). ${size.rounds} rounds count, after a warm-up round. In each round items are posted for ${size.turnMs / 1_000} s, at most ${whole(size.maxBytes / 1e6)} MB; a drain`,
    `starts with ${whole(size.drainItems)} items. One of the two services had ${countOf(size.storedEvents)} events stored before.`,
  ].join("\n");
}

function matrixBlock({ matrix }: FiguresRecord, measure: Measure): string {
  const isIntake = measure === "intake";
  const columns: [head: string, cell: (one: MatrixFigure) => string][] = [
    ["payload", (one) => `${bytesOf(one.payloadBytes)}, ${targetsOf(one.targets)}`],
    ["events", (one) => storedOf(one.storedEvents)],
    ["items", rateOf],
    ["÷ bare", (one) => ratioOf(one.ratio)],
    ["Node", (one) => `${msOf(one.nodeUs)} µs`],
    ["PostgreSQL", (one) => `${msOf(one.postgresUs)} µs`],
    ["WAL", (one) => `${whole(one.walBytes)} B`],
    ["idle, disk", (one) => `${percentOf(one.idle)}, ${percentOf(one.diskWait)}`],
  ];
  if (isIntake)
    columns.splice(4, 0, ["p50, p99", (one) => `${msOf(one.p50Ms ?? 0)}, ${msOf(one.p99Ms ?? 0)} ms`]);
  const rows = matrix
    .filter((one) => one.measure === measure)
    .map((one) => columns.map(([, cell]) => cell(one)));
  const head = columns.map(([name]) => name);
  const images = [
    image(titles[measure], measure),
    ...(isIntake ? [image("Intake: milliseconds until the 202", "intake-latency")] : []),
    ...(measure === "drain" ? [image("Processor time per item", "processor-time")] : []),
  ];
  return [...images, table(head, rows)].join("\n\n");
}

function neighboursBlock({ neighbours }: FiguresRecord): string {
  const rows = neighbours.flatMap(({ name, alone, beside, hangingTargets }) =>
    [["none", alone] as const, [targetsOf(hangingTargets), beside] as const].map(([hanging, side]) => [
      name,
      hanging,
      `${msOf(side.p50Ms)}, ${msOf(side.p99Ms)} ms`,
      perSecond(side.deliveredPerSecond),
    ]),
  );
  const title = "A healthy target with and without targets that never answer";
  return [
    image(title, "neighbours"),
    table(["the healthy target belongs to", "hanging targets", "p50, p99", "delivered, saturated"], rows),
  ].join("\n\n");
}

function publicationsBlock({ publications }: FiguresRecord): string {
  const rows = publications.flatMap(({ targets, payloadBytes, published, posted }) =>
    [["in publications", published] as const, ["one by one", posted] as const].map(([how, side]) => [
      `${bytesOf(payloadBytes)}, ${targetsOf(targets)}`,
      how,
      perSecond(side.perSecond),
      `${msOf(side.cpuUs)} µs`,
      `${whole(side.walBytes)} B`,
    ]),
  );
  return [
    image("Publications: items accepted per second", "publications"),
    table(["payload", "sent", "items", "processor time", "WAL"], rows),
  ].join("\n\n");
}

function besidesBlock({ besides }: FiguresRecord): string {
  const rows = besides.map(({ name, without, beside, ratio }) => [
    name,
    perSecond(without),
    perSecond(beside),
    ratioOf(ratio),
  ]);
  return [
    image("In and out, with and without watchers", "besides"),
    table(["watcher", "without", "with", "ratio"], rows),
  ].join("\n\n");
}

function image(text: string, name: string): string {
  return `![${text}](figures/${name}.svg)`;
}

/** A Markdown table as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [head, rule, ...rows].map(line).join("\n");
}
