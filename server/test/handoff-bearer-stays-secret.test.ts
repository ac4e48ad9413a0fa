import { expect } from "vitest";
import { startAgent } from "./support/agent/startAgent.ts";
import { createAgentTarget, untilEnded, untilHandedOver } from "./support/agentTargets.ts";
import { answerJson, wholeCard } from "./support/cardServer.ts";
import { sendItem } from "./support/items.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { keepAnswers } from "./support/keepAnswers.ts";
import { placesOfText } from "./support/placesOfText.ts";

const token = 'bearer-that-"nobody"-may-see';
const otherToken = "another-bearer-that-nobody-may-see";

const it = serviceTest({ LOG_LEVEL: "trace", POSTRIDER_LOG_REQUESTS: "true" })
  .extend("agent", file, async ({}, { onCleanup }) => {
    const agent = await startAgent({ token });
    onCleanup(() => agent.kill());
    return agent;
  })
  /** Every answer of the service. */
  .extend("answers", file, ({ service }) => keepAnswers(service));

it("the bearer token is sent to the agent and nowhere else, even when the agent repeats it", async ({
  account,
  service,
  agent,
  answers,
  pool,
}) => {
  const key = account.api_key;
  const targetId = await createAgentTarget(service, account, agent.cardUrl, {
    auth: { type: "bearer", token },
    retry_interval_seconds: 1,
    max_retries: 1,
  });
  const done = await sendItem(service, account, targetId, "complete");
  await untilEnded(service, account, done);
  expect((await agent.messages())[0]!.authorization).toBe(`Bearer ${token}`);

  // The agent refuses another token, and repeats it in its answer.
  await service.call("PATCH", `/api/v1/targets/${targetId}`, {
    key,
    body: { auth: { type: "bearer", token: otherToken } },
  });
  const refused = await sendItem(service, account, targetId, "complete");
  const failed = await untilHandedOver(service, account, refused, ({ event }) => event.status === "FAILED");
  expect(failed.delivery_attempts[0]!.error).toBe("the agent answered 401: who is Bearer [token]?");
  expect(failed.delivery_attempts[0]!.response_body).toContain("[token]");
  await service.call("POST", `/api/v1/events/${done}/handoff/cancel`, { key });
  await service.call("POST", `/api/v1/targets/${targetId}/refresh`, { key });
  await service.call("GET", `/api/v1/targets/${targetId}`, { key });
  await service.call("GET", "/api/v1/targets", { key });
  await service.call("POST", "/api/v1/targets", {
    key,
    body: { kind: "a2a", name: "x", agent_card_url: "nonsense", auth: { type: "bearer", token } },
  });
  await service.call("POST", "/api/v1/targets", {
    key,
    body: { kind: "a2a", name: 7, auth: { type: "bearer", token } },
  });
  answers.push(await (await fetch(`${service.url}/metrics`)).text());
  await service.stop();

  for (const secret of [token, JSON.stringify(token).slice(1, -1), otherToken]) {
    for (const answer of answers) expect(answer).not.toContain(secret);
    expect(service.output()).not.toContain(secret);
    expect(service.output()).not.toContain(Buffer.from(secret).toString("base64"));
    expect(await placesOfText(pool, secret)).toEqual([]);
  }
});

it("the bearer token is not sent to the agent's new origin before the owner confirms it", async ({
  newService,
  cards,
  agent,
  account,
}) => {
  const service = await newService();
  const elsewhere = await startAgent();
  cards.answer = (response) => answerJson(response, wholeCard(`http://127.0.0.1:${agent.port}/a2a`));
  const targetId = await createAgentTarget(service, account, cards.url, {
    auth: { type: "bearer", token },
    confirm_origin: `http://127.0.0.1:${agent.port}`,
  });
  cards.answer = (response) => answerJson(response, wholeCard(`http://127.0.0.1:${elsewhere.port}/a2a`));
  const refresh = (body: object): Promise<{ status: number }> =>
    service.call("POST", `/api/v1/targets/${targetId}/refresh`, { key: account.api_key, body });
  expect((await refresh({})).status).toBe(409);
  await untilEnded(service, account, await sendItem(service, account, targetId, "complete"));
  expect((await elsewhere.report()).requests).toEqual([]);

  expect((await refresh({ confirm_origin: `http://127.0.0.1:${elsewhere.port}` })).status).toBe(200);
  await untilEnded(service, account, await sendItem(service, account, targetId, "complete"));
  expect((await elsewhere.messages())[0]!.authorization).toBe(`Bearer ${token}`);
  await elsewhere.kill();
});

it("a token that is a word of the protocol does not damage answers: the item is sent once", async ({
  newService,
  account,
}) => {
  const service = await newService();
  for (const word of ["id", "task"]) {
    const agent = await startAgent({ token: word });
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      auth: { type: "bearer", token: word },
    });
    const id = await sendItem(service, account, targetId, "complete");
    const { delivery_attempts: attempts } = await untilEnded(service, account, id);
    expect(attempts).toMatchObject([{ status_code: 200, error: null }]);
    expect(await agent.messages()).toHaveLength(1);
    await agent.kill();
  }
});
