import { perSecond, whole } from "../figures.ts";
import { type FiguresRecord, type MatrixFigure, type Measure, measures } from "./record.ts";
import { bytesOf, countOf, msOf, percentOf, rateOf, ratioOf, storedOf, targetsOf, titles } from "./words.ts";

/**
 * The page with what stands between its markers, `<!-- figures: NAME -->` and `<!-- end of figures -->`, as the record has it.
 * @throws when the page has a block that nothing is known of, or lacks one.
 */
export function pageOf(page: string, record: FiguresRecord): string {
  const blocks = blocksOf(record);
  const found: string[] = [];
  const written = page.replaceAll(marked, (_all, start: string, name: string, end: string) => {
    const block = blocks[name];
    if (block === undefined) throw new Error(`nothing is known of the figures "${name}"`);
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
  const kind = run === "full" ? "The run" : "**A quick run, for a first look,**";
  const stolen = matrix.map((one) => one.stolen).toSorted((one, other) => one - other);
  return [
    `${kind} of ${date} at commit \`${commit}\`: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB of memory, ${machine.system},`,
    `Node ${machine.node.slice(1)}, the embedded PostgreSQL ${machine.postgres}. The disk flushed 8 KiB ${whole(machine.flushesPerSecond)} times a second, one after the other, and`,
    `${whole(machine.flushedMegabytesPerSecond)} MB a second in pieces of 1 MiB. Other virtual machines took up to ${percentOf(stolen.at(-1) ?? 0)} of the processors' time, half of the`,
    `figures had less than ${percentOf(stolen[stolen.length >> 1] ?? 0)} taken. After a round that warmed up, ${size.rounds} counted, with ${size.turnMs / 1_000} s of putting items in, at most ${whole(size.maxBytes / 1e6)} MB of`,
    `them, or ${whole(size.drainItems)} items to drain. One of two services had ${countOf(size.storedEvents)} events stored before.`,
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
    ...(isIntake ? [image("Milliseconds to the 202", "intake-latency")] : []),
    ...(measure === "drain" ? [image("Processor time of an item", "processor-time")] : []),
  ];
  return [...images, table(head, rows)].join("\n\n");
}

function neighboursBlock({ neighbours }: FiguresRecord): string {
  const rows = neighbours.flatMap(({ name, alone, beside }) =>
    [["alone", alone] as const, ["beside them", beside] as const].map(([where, side]) => [
      name,
      where,
      `${msOf(side.p50Ms)}, ${msOf(side.p99Ms)} ms`,
      perSecond(side.deliveredPerSecond),
    ]),
  );
  const title = "A healthy target beside targets that never answer";
  return [
    image(title, "neighbours"),
    table(["the healthy target", "", "p50, p99", "delivered, saturated"], rows),
  ].join("\n\n");
}

function publicationsBlock({ publications }: FiguresRecord): string {
  const rows = publications.flatMap(({ targets, payloadBytes, published, posted }) =>
    [["published", published] as const, ["posted alone", posted] as const].map(([how, side]) => [
      `${bytesOf(payloadBytes)}, ${targetsOf(targets)}`,
      how,
      perSecond(side.perSecond),
      `${msOf(side.cpuUs)} µs`,
      `${whole(side.walBytes)} B`,
    ]),
  );
  return [
    image("Publications: items accepted a second", "publications"),
    table(["payload", "", "items", "processor time", "WAL"], rows),
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
    image("In and out beside those who watch", "besides"),
    table(["beside", "without", "with", "ratio"], rows),
  ].join("\n\n");
}

function image(text: string, name: string): string {
  return `![${text}](figures/${name}.svg)`;
}

/** As the formatter has it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [head, rule, ...rows].map(line).join("\n");
}
