import { startService } from "./benchService.ts";
import { atMost, type BenchSize, type Figure } from "./figures.ts";
import { monotonicMs, postBytes, runLoad, summarize } from "./load.ts";
import { startProgram } from "./processes.ts";
import { ask, connections, host, inTemporaryDirectory } from "./workload.ts";

/** The time from the client's sending to the receiver's reading, at a thousand items per second. */
export async function latencyFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const latencies = (): Promise<{ latencies: number[] }> => ask(receiver.port, "/latency");
  const result = await inTemporaryDirectory(async (dataDir) => {
    const service = await startService({ dataDir });
    const url = `http://127.0.0.1:${receiver.port}/measured`;
    const target = await service.createTarget({ kind: "webhook", name: "bench", url });
    const authorization = `authorization: Bearer ${service.key}`;
    const request = (): Buffer => {
      const body = JSON.stringify({ sent_at: monotonicMs(), data: "x".repeat(440) });
      return postBytes(`/t/${target}`, [authorization], body);
    };
    const run = { host, port: service.port, connections, expect: 202, rate: 1_000, request };
    await runLoad({ ...run, durationMs: 2_000 });
    await latencies();
    await runLoad({ ...run, durationMs: size.durationMs });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const measured = await latencies();
    await service.stop();
    return summarize(measured.latencies, 0, size.durationMs / 1000);
  });
  await receiver.stop();
  return [
    atMost("accept → receiver at 1,000/s, p50", result.p50, 3),
    atMost("accept → receiver at 1,000/s, p99", result.p99, 15),
  ];
}
