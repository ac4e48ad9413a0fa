import { expect, it } from "vitest";
import { placeOfServer } from "../../server/src/postgres/cellServers.ts";
import { placedCells } from "../../server/src/postgres/placement/workers.ts";
import { citusUrl } from "../../server/test/support/citus.ts";
import { runDatabaseCommand } from "../../server/test/support/databaseCommand.ts";
import { createMailboxTarget } from "../../server/test/support/items.ts";
import { someKey } from "../../server/test/support/program.ts";
import { until } from "../../server/test/support/until.ts";
import { plainCaller, signUpInCell } from "./clients/clients.ts";
import { testWorld } from "./testSession.ts";
import { urlAt } from "./world/postgres/installation.ts";

/** Starting a world of three servers can take minutes on a busy machine. */
const limitMs = 600_000;

it(
  "a service that starts while a worker of Citus is away serves the other cells, and that cell once the worker is back",
  { timeout: limitMs },
  async ({ skip, onTestFinished }) => {
    skip(citusUrl === undefined, "TEST_CITUS_URL names no coordinator of Citus");
    const { world, recorder } = await testWorld(onTestFinished, { cells: 2, citusUrl });
    await world.begin(1, [recorder]);
    const [slot] = world.services;
    const { call } = plainCaller(slot.url);
    const citus = world.citus!;
    const worker = citus.nodes["worker-2"].primary;
    const wire = citus.wireTo("worker-2");
    const placed = await citus.primary.session(placedCells);
    const away = placed.findIndex(({ port }) => port === wire.port);
    const [lost, kept] = await Promise.all(
      [away, 1 - away].map(async (cell) => {
        const account = await signUpInCell({ call }, cell, world.cells);
        return { key: account.api_key, path: `/t/${await createMailboxTarget({ call }, account)}` };
      }),
    );
    const post = async ({ key, path }: { key: string; path: string }) =>
      call("POST", path, { key, body: { number: 1 } });
    const ready = () => call("GET", "/readyz");
    const cells = async () => {
      const { code, out, err } = await runDatabaseCommand(["db", "cells"], {
        DATABASE_URL: urlAt(citus.primary.port),
        POSTRIDER_CELLS: String(world.cells),
        POSTRIDER_ENCRYPTION_KEY: someKey,
      });
      expect(code, err).toBe(0);
      return JSON.parse(out).cells;
    };
    const restart = async (): Promise<void> => {
      await slot.inTurn(async () => {
        await slot.end("SIGKILL");
        await slot.start();
      });
    };
    const ends = {
      killed: { harm: () => worker.end("SIGKILL"), heal: () => worker.start() },
      silent: {
        harm: () => Promise.resolve((wire.mode = "freeze")),
        heal: () => {
          wire.mode = "pass";
          // Simulates a host that returns: it answers packets of connections that it does not know with a reset.
          wire.cut();
          return Promise.resolve();
        },
      },
    };
    for (const { harm, heal } of Object.values(ends)) {
      await harm();
      await restart();
      const answer = await until(ready, ({ body }) => body.warnings !== undefined);
      expect(answer).toMatchObject({ status: 200, body: { status: "ready" } });
      expect(answer.body.warnings).toEqual([
        expect.stringMatching(`^cell ${away} on 127.0.0.1:${wire.port} accepts nothing: `),
      ]);
      expect(await post(kept!)).toMatchObject({ status: 202 });
      expect(await post(lost!)).toMatchObject({
        status: 503,
        headers: { "retry-after": expect.stringMatching(/^\d+$/) },
      });
      expect((await call("GET", "/api/v1/targets", { key: kept!.key })).status).toBe(200);
      const shown = await cells();
      expect(shown.map(({ server }: { server: string }) => server)).toEqual(placed.map(placeOfServer));
      expect(shown[away]).toMatchObject({ bytes: null, rows_due: null, rows_per_second: null });
      expect(shown[1 - away]).toMatchObject({ rows_due: 0 });

      await heal();
      await until(
        () => post(lost!),
        ({ status }) => status === 202,
        limitMs,
      );
      await until(ready, ({ body }) => body.warnings === undefined, limitMs);
      await until(
        async () => (await fetch(`${slot.url}/metrics`)).text(),
        (text) => text.includes(`{server="127.0.0.1:${wire.port}",way="direct",cell="${away}"} 1`),
        limitMs,
      );
    }
  },
);
