import { type BenchService, startService } from "./benchService.ts";
import { atMost, type BenchSize, type Figure, median, rounds, sliceOf, whole } from "./figures.ts";
import { type Done, operations, run, type Side, untilQuiet, urlOf } from "./inAndOut.ts";
import { runLoad } from "./load.ts";
import { type Program, startProgram } from "./processes.ts";
import { processorTimeOf } from "./usage.ts";
import { connections, fixedItem, host, inTemporaryDirectory, received } from "./workload.ts";

const counts = [1, 2, 4];
/**
 * Items per second that are sent to each process while cost is measured, so that batches are equally large. Four processes at
 * this rate, the client and the receiver fit on two cores.
 */
const steadyRate = 500;

interface Contender {
  count: number;
  service: BenchService;
  receiver: Program;
  side: Side & { connections: number };
  /** Results of the saturated rounds, in items per second. */
  done: Done[];
  /** Items delivered at the steady rate. */
  items: number;
  /** Seconds of processor time that Node and PostgreSQL took for them. */
  node: number;
  postgres: number;
}

/**
 * Measures accepting and delivering at the same time with 1, 2 and 4 processes behind one port, each service on a database of its
 * own, in alternating turns: the rate when saturated, with 64 connections per process, and the cost of an item at a steady rate.
 * Saturated processes that share a core have smaller batches, so that each of their items costs more.
 */
export async function processesFigures(size: BenchSize): Promise<Figure[]> {
  return inTemporaryDirectory(async (directory) => {
    const contenders: Contender[] = [];
    for (const count of counts) contenders.push(await contend(`${directory}/${count}`, count));
    for (const { side, count } of contenders) {
      // Each process compiles its own hot code. A warm-up by time would give too few items to each of many processes.
      await runLoad({ ...loadOf(side), durationMs: 600_000, requests: size.drainItems * count });
      await untilQuiet(side.receiverPort);
    }
    for (let round = 0; round < rounds; round++) {
      for (const contender of contenders) {
        contender.done.push(await run(contender.side, sliceOf(size)));
        await measureCost(contender, size);
      }
    }
    for (const { service, receiver } of contenders) {
      await service.stop();
      await receiver.stop();
    }
    return contenders.flatMap((contender) => figuresOf(contender, contenders[0]!));
  });
}

async function contend(dataDir: string, count: number): Promise<Contender> {
  const receiver = await startProgram("./receiver.ts");
  const service = await startService({ dataDir, settings: { POSTRIDER_PROCESSES: String(count) } });
  const target = await service.createTarget({ kind: "webhook", name: "bench", url: urlOf(receiver.port) });
  const side = {
    port: service.port,
    receiverPort: receiver.port,
    request: fixedItem(service, target),
    connections: connections * count,
  };
  return { count, service, receiver, side, done: [], items: 0, node: 0, postgres: 0 };
}

function loadOf({ port, request, connections: open }: Contender["side"]) {
  return { host, port, request, connections: open, warmupMs: 0, expect: 202 };
}

async function measureCost(contender: Contender, size: BenchSize): Promise<void> {
  const { service, side, count } = contender;
  const itemsBefore = await received(side.receiverPort);
  const before = await processorTimeOf(service);
  const { durationMs } = sliceOf(size);
  await runLoad({ ...loadOf(side), durationMs, rate: steadyRate * count });
  await untilQuiet(side.receiverPort);
  const after = await processorTimeOf(service);
  contender.items += (await received(side.receiverPort)) - itemsBefore;
  contender.node += after.node - before.node;
  contender.postgres += after.postgres - before.postgres;
}

function figuresOf(contender: Contender, one: Contender): Figure[] {
  const rate = (of: Contender): number => median(of.done.map(operations));
  const cost = ({ node, postgres, items }: Contender): number => (node + postgres) / items;
  const name = contender.count === 1 ? "1 process" : `${contender.count} processes`;
  const [accepted, delivered] = (["accepted", "delivered"] as const).map((kind) =>
    whole(median(contender.done.map((done) => done[kind]))),
  );
  const [node, postgres] = (["node", "postgres"] as const).map((kind) =>
    whole((contender[kind] / contender.items) * 1e6),
  );
  const ratio = cost(contender) / cost(one);
  return [
    {
      name: `in and out, ${name}`,
      value: `${accepted} accepted and ${delivered} delivered/s`,
      ratio: rate(contender) / rate(one),
    },
    {
      ...atMost(
        `processor time per item at ${whole(steadyRate)}/s each, ${name}`,
        ratio,
        1.1,
        "of one process's",
      ),
      value: `${node} µs of Node's, ${postgres} µs of PostgreSQL's`,
      ratio,
    },
  ];
}
