import { expect, onTestFinished } from "vitest";
import { citusUrl } from "./support/citus.ts";
import { sharedNodeTest } from "./support/fixtures.ts";
import { countLockWaits, holdTable } from "./support/heldLocks.ts";
import { rawConnectionOfTest } from "./support/rawConnection.ts";
import { until } from "./support/until.ts";

const it = sharedNodeTest();

it("a list whose client disconnects while its credential is checked is not read", async ({
  node,
  url,
  account,
  skip,
}) => {
  skip(citusUrl !== undefined, "the coordinator does not see lock waits of workers");
  const letSessionsGo = await holdTable(node.pool, "sessions");
  onTestFinished(letSessionsGo);
  const client = await rawConnectionOfTest(Number(new URL(url).port));
  const session = `X-Session-Token: ${account.session_token}`;
  await client.write(`GET /api/v1/targets HTTP/1.1\r\nHost: x\r\n${session}\r\n\r\n`);
  await until(async () => (await countLockWaits(node.pool)) === 1);
  client.destroy();
  await client.ended;
  // The service notices the disconnect before this later request.
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const letTargetsGo = await holdTable(node.pool, "targets");
  onTestFinished(letTargetsGo);
  await letSessionsGo();
  const later = { headers: { "X-Session-Token": account.session_token } };
  expect((await fetch(`${url}/api/v1/orgs`, later)).status).toBe(200);
  expect(await countLockWaits(node.pool)).toBe(0);
});
