import { startBrowser } from "../../../dashboard/test/support/browser.ts";
import { buildIfStale } from "../../../dashboard/test/support/build.ts";
import { startService } from "../benchService.ts";
import type { BenchSize, Figure } from "../figures.ts";
import { startProgram } from "../processes.ts";
import { inTemporaryDirectory } from "../workload.ts";
import { visitor } from "./account.ts";
import { largeFigures } from "./large.ts";
import { liveFigures } from "./live.ts";

/** Measures the dashboard in a real browser: while the service takes 5,000 items per second, and with large data. */
export async function dashboardFigures(size: BenchSize): Promise<Figure[]> {
  await buildIfStale();
  const receiver = await startProgram("./receiver.ts");
  const browser = await startBrowser();
  try {
    return await inTemporaryDirectory(async (dataDir) => {
      const service = await startService({ dataDir });
      const large = await largeFigures(service, await visitor(browser, service.port));
      const live = await liveFigures(
        { service, receiver, browser },
        await visitor(browser, service.port),
        size,
      );
      await service.stop();
      return [...live, ...large];
    });
  } finally {
    await browser.close();
    await receiver.stop();
  }
}
