import type { BenchService } from "./benchService.ts";
import { atLeast, type Figure, median, perSecond, rounds } from "./figures.ts";
import { inTemporaryDirectory } from "./workload.ts";

/** What was counted in a second of one round. */
interface Beside {
  empty: number;
  filled: number;
}

interface Sides<Side> {
  /** A service with its data in this directory, warmed up. */
  start: (dataDir: string) => Promise<Side>;
  fill: (filled: Side) => Promise<void>;
  /** What one side does in a second. */
  measure: (side: Side) => Promise<number>;
}

/** Two services side by side, one empty and one filled, measured by turns. */
export function sideBySide<Side extends { service: BenchService }>({
  start,
  fill,
  measure,
}: Sides<Side>): Promise<Beside[]> {
  return inTemporaryDirectory((emptyDir) =>
    inTemporaryDirectory(async (filledDir) => {
      const empty = await start(emptyDir);
      const filled = await start(filledDir);
      await fill(filled);
      const measured: Beside[] = [];
      for (let round = 0; round < rounds; round++) {
        measured.push({ empty: await measure(empty), filled: await measure(filled) });
      }
      await empty.service.stop();
      await filled.service.stop();
      return measured;
    }),
  );
}

/** What the filled side reached of the empty one: the median over the rounds. @param unit What was counted. */
export function filledByEmpty(name: string, goal: number, measured: readonly Beside[], unit = ""): Figure {
  const over = (value: (beside: Beside) => number): number => median(measured.map(value));
  const [filled, empty] = [over((one) => one.filled), over((one) => one.empty)].map(perSecond);
  const value = `${filled} beside ${empty} ${unit}`.trimEnd();
  return atLeast(
    name,
    over((one) => one.filled / one.empty),
    goal,
    value,
  );
}
