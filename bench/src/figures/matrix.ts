import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "../figures.ts";
import { postBytes } from "../load.ts";
import { endWithThis, startProgram, stopProcess } from "../processes.ts";
import { connections, host, inTemporaryDirectory } from "../workload.ts";
import { type Load, loadOf, requestsTo } from "./load.ts";
import {
  type BareFigure,
  type FiguresSize,
  type MachineParts,
  type MatrixFigure,
  type Measure,
  payloadSizes,
  rounded,
  roundedRatio,
  targetCounts,
} from "./record.ts";
import { bareTurn, type Side, startDelivering, startIntakeSide } from "./sides.ts";
import {
  type CostedTurn,
  costed,
  drainTurn,
  fillTurn,
  inAndOutTurn,
  intakeTurn,
  type Turn,
} from "./turns.ts";

export interface MatrixMeasured {
  matrix: MatrixFigure[];
  bares: BareFigure[];
}

/** How to run one turn of a measure: on the bare side, and on a service. */
interface Method {
  measure: Measure;
  bare: (load: Load) => Promise<Turn>;
  own: (side: Side, load: Load, targets: number) => Promise<CostedTurn>;
}

type Say = (what: string) => void;

/**
 * Measures intake, in and out, and drain for every payload size and number of targets, in alternating turns: a service without
 * events, one with many stored, and the same HTTP work without storage.
 */
export function measureMatrix(size: FiguresSize, say: Say): Promise<MatrixMeasured & { postgres: string }> {
  return inTemporaryDirectory((emptyDir) =>
    inTemporaryDirectory(async (filledDir) => {
      const receiver = await startProgram("./receiver.ts");
      const dirs = [emptyDir, filledDir];
      const start = (turn: number, storedEvents: number) =>
        startIntakeSide({
          dataDir: dirs[turn - 1]!,
          receiverPort: receiver.port,
          turn,
          storedEvents,
          onStored: (events) => {
            if (events % 1_000_000 === 0) say(`${events / 1e6} million events stored`);
          },
        });
      let sides = [await start(1, 0), await start(2, size.storedEvents)];
      const measured = [await measureIntake(sides, size, say)];
      sides = await Promise.all(sides.map((side, index) => startDelivering(side, dirs[index]!)));
      measured.push(await measureInAndOut(sides, receiver.port, { size, say }));
      measured.push(await measureDrain(sides, receiver.port, { size, say }));
      const [version] = await sides[0]!.service.sql<{ text: string }>(
        "select current_setting('server_version') as text",
      );
      for (const { service } of sides) await service.stop();
      await receiver.stop();
      return {
        matrix: measured.flatMap(({ matrix }) => matrix),
        bares: measured.flatMap(({ bares }) => bares),
        postgres: version!.text,
      };
    }),
  );
}

async function measureIntake(sides: readonly Side[], size: FiguresSize, say: Say): Promise<MatrixMeasured> {
  const bare = await startProgram("./bareServer.ts");
  const method: Method = {
    measure: "intake",
    bare: (load) => intakeTurn(bare.port, load, bareRequest(load), size),
    own(side, load, targets) {
      const request = requestsTo(side.service.key, side.open.slice(0, targets), load);
      return costed(side, () => intakeTurn(side.service.port, load, request, size));
    },
  };
  const loads = payloadSizes.map((bytes) => loadOf(bytes, size));
  const measured = await play(method, sides, loads, { size, say });
  await bare.stop();
  return measured;
}

/** A request with the path of a target and the header of a key, both of which the bare server ignores. */
function bareRequest({ body }: Load): () => Buffer {
  const headers = [`authorization: Bearer ak_live_${"a".repeat(64)}`];
  const bytes = postBytes(`/t/${"0".repeat(32)}`, headers, body.toString());
  return () => bytes;
}

async function measureInAndOut(
  sides: readonly Side[],
  receiverPort: number,
  { size, say }: { size: FiguresSize; say: Say },
): Promise<MatrixMeasured> {
  const relay = await startProgram("./bareRelay.ts", [
    `http://${host}:${receiverPort}/`,
    String(size.maxItems),
  ]);
  const method: Method = {
    measure: "in-and-out",
    bare: (load) => inAndOutTurn(relay.port, receiverPort, { load, request: bareRequest(load), size }),
    own(side, load, targets) {
      const request = requestsTo(side.service.key, side.open.slice(0, targets), load);
      return costed(side, () => inAndOutTurn(side.service.port, receiverPort, { load, request, size }));
    },
  };
  const loads = payloadSizes.map((bytes) => loadOf(bytes, size));
  const measured = await play(method, sides, loads, { size, say });
  await relay.stop();
  return measured;
}

async function measureDrain(
  sides: readonly Side[],
  receiverPort: number,
  { size, say }: { size: FiguresSize; say: Say },
): Promise<MatrixMeasured> {
  const all: MatrixMeasured = { matrix: [], bares: [] };
  const path = fileURLToPath(new URL("../bareSender.ts", import.meta.url));
  for (const bytes of payloadSizes) {
    const url = `http://${host}:${receiverPort}/turns/${bareTurn}`;
    const bareSender = spawn(process.execPath, [path, url, String(connections), String(bytes)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    endWithThis(bareSender);
    const load = loadOf(bytes, size);
    const items = Math.min(size.drainItems, load.maxItems);
    const method: Method = {
      measure: "drain",
      bare: () => drainTurn(receiverPort, bareTurn, items),
      async own(side, _load, targets) {
        await fillTurn(side, load, targets, items);
        return costed(side, () => drainTurn(receiverPort, side.turn, items));
      },
    };
    const { matrix, bares } = await play(method, sides, [load], { size, say });
    await stopProcess(bareSender);
    all.matrix.push(...matrix);
    all.bares.push(...bares);
  }
  return all;
}

/** One cell of the matrix: its turns, and the bare turns of the same rounds. */
interface Cell {
  side: Side;
  targets: number;
  turns: { own: CostedTurn; bare: Turn }[];
}

async function play(
  method: Method,
  sides: readonly Side[],
  loads: readonly Load[],
  { size, say }: { size: FiguresSize; say: Say },
): Promise<MatrixMeasured> {
  const all: MatrixMeasured = { matrix: [], bares: [] };
  for (const load of loads) {
    const { measure } = method;
    const { payloadBytes } = load;
    say(`${measure}, ${payloadBytes} B`);
    await tidy(sides);
    const cells: Cell[] = sides.flatMap((side) =>
      targetCounts.map((targets) => ({ side, targets, turns: [] })),
    );
    const bares: Turn[] = [];
    for (let round = 0; round <= size.rounds; round++) {
      const bare = await method.bare(load);
      if (round > 0) bares.push(bare);
      // The first round warms up. The order of the cells alternates from round to round.
      for (const cell of round % 2 > 0 ? cells : cells.toReversed()) {
        const own = await method.own(cell.side, load, cell.targets);
        if (round > 0) cell.turns.push({ own, bare });
      }
    }
    all.bares.push({
      measure,
      payloadBytes,
      perSecond: rounded(median(bares.map((one) => one.perSecond))),
    });
    all.matrix.push(...cells.map((cell) => figureOf(measure, payloadBytes, cell)));
  }
  return all;
}

/** Vacuums and writes a checkpoint, so that work left from the previous payload size does not count for the next. */
async function tidy(sides: readonly Side[]): Promise<void> {
  for (const { service } of sides) {
    await service.sql("vacuum events, delivered_groups, deliveries");
    await service.sql("checkpoint");
  }
}

function figureOf(measure: Measure, payloadBytes: number, { side, targets, turns }: Cell): MatrixFigure {
  const over = (value: (turn: CostedTurn) => number): number =>
    rounded(median(turns.map(({ own }) => value(own))));
  const part = (kind: keyof MachineParts): number => roundedRatio(median(turns.map(({ own }) => own[kind])));
  const isIntake = measure === "intake";
  return {
    measure,
    payloadBytes,
    targets,
    storedEvents: side.storedEvents,
    perSecond: over((turn) => turn.perSecond),
    ratio: roundedRatio(median(turns.map(({ own, bare }) => own.perSecond / bare.perSecond))),
    ...(isIntake && { p50Ms: over((turn) => turn.p50Ms ?? 0), p99Ms: over((turn) => turn.p99Ms ?? 0) }),
    nodeUs: over((turn) => turn.nodeUs),
    postgresUs: over((turn) => turn.postgresUs),
    walBytes: over((turn) => turn.walBytes),
    idle: part("idle"),
    diskWait: part("diskWait"),
    stolen: part("stolen"),
    lost: turns.reduce((sum, { own }) => sum + own.lost, 0),
  };
}
