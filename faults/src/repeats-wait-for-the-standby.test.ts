import { expect, it } from "vitest";
import { until } from "../../server/test/support/until.ts";
import { plainCaller, signUpWithTargets } from "./clients/clients.ts";
import { testWorld } from "./testSession.ts";

it("a repeated request is answered only once the standby has the accepted or acknowledged item", async ({
  onTestFinished,
}) => {
  const { world, recorder } = await testWorld(onTestFinished);
  const service = plainCaller(world.services[0].url);
  const [receiversUrl] = await world.begin(1, [recorder]);
  const { account, addresses } = await signUpWithTargets(world, {
    receiversUrl: receiversUrl!,
    hasVersionBefore: false,
    cell: 0,
  });
  const key = account.api_key;
  const { wires, database } = world;
  const isAlone = (isAlone: boolean): void => {
    wires.replication.mode = isAlone ? "refuse" : "pass";
    if (isAlone) wires.replication.cut();
  };
  /** Terminates the sessions whose commits wait for the standby: their writes remain, on the primary alone. */
  const endWaits = (): Promise<unknown> =>
    until(
      () =>
        database.primary.query(
          `select pg_terminate_backend(pid)
           from pg_stat_activity
           where wait_event = 'SyncRep'`,
        ),
      (rows) => rows.length > 0,
    );
  /**
   * Sends the request twice while the standby is away, and a third time when it is back; returns the three
   * statuses.
   */
  const asked = async (ask: () => Promise<number>): Promise<number[]> => {
    isAlone(true);
    const first = ask();
    await endWaits();
    const statuses = [await first];
    const second = ask();
    statuses.push(await second);
    isAlone(false);
    await database.isWhole();
    return [...statuses, await until(ask, (status) => status !== 503)];
  };
  const post = async (path: string, body: object): Promise<number> =>
    (await service.call("POST", path, { key, body, headers: { "idempotency-key": "k" } })).status;

  expect(await asked(() => post(`/t/${addresses.mailboxId}`, { number: 1 }))).toEqual([503, 503, 202]);
  expect(await asked(() => post(`/p/${addresses.customer}`, { number: 2 }))).toEqual([503, 503, 202]);
});
