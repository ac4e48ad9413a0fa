import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished } from "vitest";
import { createAgentTarget, untilEnded } from "./support/agentTargets.ts";
import { type CollectedSpan, type Collector, startCollector } from "./support/collector.ts";
import { file, serviceTest, stageTest } from "./support/fixtures.ts";
import { createMailboxTarget, createWebhookTarget } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { placesOfText } from "./support/placesOfText.ts";

const saysModules = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL("./support/sayOtelModules.ts", import.meta.url))}`,
};
const kinds = { internal: 1, server: 2, client: 3, consumer: 5 };

const stage = stageTest.extend("collector", ({}, { onCleanup }) => newCollector(onCleanup));

const it = serviceTest()
  .extend("collector", file, ({}, { onCleanup }) => newCollector(onCleanup))
  .extend("service", file, ({ newService, collector }) => newService(collector.env))
  .extend("mailboxId", ({ service, account }) => createMailboxTarget(service, account));

async function newCollector(onCleanup: (cleanUp: () => Promise<void>) => void): Promise<Collector> {
  const collector = await startCollector();
  onCleanup(() => collector.stop());
  return collector;
}

/** A client's own span, as it sends it in `traceparent`. */
function clientSpan(flags = "01") {
  const traceId = randomBytes(16).toString("hex");
  const spanId = randomBytes(8).toString("hex");
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

async function send(
  service: ServiceProcess,
  account: Account,
  targetId: string,
  { headers, body = { hello: "world" } }: { headers: Record<string, string>; body?: unknown },
): Promise<string> {
  const answer = await service.call("POST", `/t/${targetId}`, { key: account.api_key, body, headers });
  expect(answer.status).toBe(202);
  return answer.body.id;
}

const ofTrace = (traceId: string) => (span: CollectedSpan) => span.traceId === traceId;

describe("a trace", () => {
  stage(
    "goes from the client over acceptance, a claim on another node and a retry to the receiver",
    async ({ start, receiver, collector }) => {
      const node = await start({
        ...collector.env,
        ...saysModules,
        POSTRIDER_ROLES: "api",
        OTEL_SERVICE_NAME: "intake",
      });
      const account = await signUp(node);
      const url = `${receiver.url}/secret-path?token=secret-query`;
      const target = await createWebhookTarget(node, account, url, { retry_interval_seconds: 1 });
      const client = clientSpan();
      const id = await send(node, account, target.id, { ...client, body: { password: "secret-payload" } });
      const [accepted] = await collector.arrivals(1, ofTrace(client.traceId));
      expect(accepted).toMatchObject({
        name: "POST /t/:target_id",
        kind: kinds.server,
        parentSpanId: client.spanId,
        service: "intake",
        attributes: {
          "messaging.message.id": id,
          "http.response.status_code": 202,
          "postrider.outcome": "due",
        },
      });
      node.kill("SIGKILL");
      await node.ended;
      expect(node.output()).toContain("@opentelemetry/sdk-trace");
      receiver.answer = (received, response) => {
        if (receiver.received.length === 1) response.writeHead(500).end();
        else answerOk(received, response);
      };
      await start({ ...collector.env, OTEL_RESOURCE_ATTRIBUTES: "service.name=sender" });
      const [first, second] = await receiver.arrivals(2);
      const spans = await collector.arrivals(5, ofTrace(client.traceId));
      const attempts = spans.filter(({ kind }) => kind === kinds.client);
      expect(attempts.map(({ spanId }) => `00-${client.traceId}-${spanId}-01`)).toEqual([
        first!.headers["traceparent"],
        second!.headers["traceparent"],
      ]);
      expect(attempts).toMatchObject([
        {
          service: "sender",
          status: 2,
          attributes: {
            "postrider.outcome": "retry",
            "http.response.status_code": 500,
            "http.request.resend_count": 0,
            "server.address": "127.0.0.1",
            "server.port": receiver.port,
          },
        },
        { status: 0, attributes: { "postrider.outcome": "delivered", "http.request.resend_count": 1 } },
      ]);
      expect(spans.map(({ name }) => name).toSorted()).toEqual([
        "POST",
        "POST",
        "POST /t/:target_id",
        "claim",
        "claim",
      ]);
      for (const { parentSpanId } of spans.slice(1)) expect(parentSpanId).toBe(accepted!.spanId);
      for (const secret of ["secret-path", "secret-query", "secret-payload", account.api_key]) {
        expect(collector.text()).not.toContain(secret);
      }
    },
  );

  it("is sent to the agent, and continues with the task's result to its consumer, whose own trace links to it", async ({
    service,
    account,
    call,
    agent,
    mailboxId,
    collector,
  }) => {
    const targetId = await createAgentTarget(service, account, agent.cardUrl, {
      result_target_id: mailboxId,
    });
    const client = clientSpan();
    const id = await send(service, account, targetId, { ...client, body: { do: "complete" } });
    await untilEnded(service, account, id);
    const [message] = await agent.messages();
    const isAttempt = (span: CollectedSpan) => span.traceId === client.traceId && span.kind === kinds.client;
    const attempt = await collector.arrivals(1, isAttempt);
    expect(message!.traceparent).toBe(`00-${client.traceId}-${attempt[0]!.spanId}-01`);
    const consumer = clientSpan();
    const claim = await call("POST", `/api/v1/mailboxes/${mailboxId}/claim`, {}, consumer.headers);
    const [result] = claim.body.messages;
    expect(result.traceparent).toMatch(new RegExp(`^00-${client.traceId}-[0-9a-f]{16}-01$`));
    const messages = [{ id: result.id, claim_token: result.claim_token }];
    const path = `/api/v1/mailboxes/${mailboxId}/ack`;
    const acked = await call("POST", path, { messages }, consumer.headers);
    expect(acked.body.results).toMatchObject([{ ok: true }]);
    const spans = await collector.arrivals(5, ofTrace(client.traceId));
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      "POST",
      "POST /t/:target_id",
      "acknowledge",
      "claim",
      "follow task",
    ]);
    for (const { links } of spans.filter(({ kind }) => kind === kinds.consumer)) {
      expect(links).toMatchObject([{ traceId: consumer.traceId, spanId: consumer.spanId }]);
    }
    expect(spans.find(({ name }) => name === "follow task")!.attributes).toMatchObject({
      "postrider.handoff.outcome": "COMPLETED",
      "messaging.message.id": id,
    });
  });

  it("is sent to the consumer of a mailbox, also for a claim by id; a replay has its own trace, linked to its source's", async ({
    service,
    account,
    call,
    settled,
    mailboxId,
    receiver,
    collector,
  }) => {
    const client = clientSpan();
    const id = await send(service, account, mailboxId, client);
    const path = `/api/v1/mailbox-messages/${id}`;
    const claimed = await call("POST", `${path}/claim`);
    expect(claimed.body.traceparent).toContain(client.traceId);
    expect((await call("POST", `${path}/ack`)).status).toBe(200);
    const spans = await collector.arrivals(3, ofTrace(client.traceId));
    expect(spans.map(({ name }) => name)).toEqual(["POST /t/:target_id", "claim", "acknowledge"]);
    expect(spans[2]).toMatchObject({ links: [], parentSpanId: spans[0]!.spanId });

    const target = await createWebhookTarget(service, account, `${receiver.url}/replayed`);
    const source = clientSpan();
    const sourceId = await send(service, account, target.id, source);
    await settled(sourceId, "DELIVERED");
    const replay = await call("POST", `/api/v1/events/${sourceId}/replay`);
    const [, again] = await receiver.arrivals(2, { path: "/replayed" });
    expect(again!.headers["traceparent"]).toContain(`00-${replay.body.id}-`);
    const replayed = await collector.arrivals(2, ofTrace(replay.body.id));
    expect(replayed.map(({ name, links }) => [name, links[0]?.traceId])).toEqual([
      ["claim", source.traceId],
      ["POST", source.traceId],
    ]);

    const unsampled = clientSpan("00");
    await send(service, account, target.id, unsampled);
    const [, , third] = await receiver.arrivals(3, { path: "/replayed" });
    expect(third!.headers["traceparent"]).toBeUndefined();
    expect(collector.spans.filter(ofTrace(unsampled.traceId))).toEqual([]);
  });

  it("continues from a publication to each of its items, for webhooks and consumers", async ({
    service,
    account,
    call,
    receiver,
    collector,
  }) => {
    await call("PUT", "/api/v1/customers/traced", {});
    const ofCustomer = { customer_uid: "traced" };
    for (const name of ["a", "b"])
      await createWebhookTarget(service, account, `${receiver.url}/published-${name}`, ofCustomer);
    const mailboxId = await createMailboxTarget(service, account, ofCustomer);
    const client = clientSpan();
    const published = await call("POST", "/p/traced", {}, client.headers);
    expect(published.status).toBe(202);
    const claim = await call("POST", `/api/v1/mailboxes/${mailboxId}/claim`);
    const spans = await collector.arrivals(4, ofTrace(client.traceId));
    const intake = spans.find(({ kind }) => kind === kinds.server)!;
    expect(intake).toMatchObject({
      name: "POST /p/:customer",
      parentSpanId: client.spanId,
      attributes: { "http.route": "/p/:customer", "postrider.outcome": "accepted" },
    });
    const attempts = spans.filter(({ kind }) => kind === kinds.client);
    const webhookItems = published.body.items.filter(
      (item: { target_id: string }) => item.target_id !== mailboxId,
    );
    expect(webhookItems).toHaveLength(2);
    expect(new Set(attempts.map(({ attributes }) => attributes["messaging.message.id"]))).toEqual(
      new Set(webhookItems.map(({ id }: { id: string }) => id)),
    );
    for (const { parentSpanId } of spans.filter((span) => span !== intake))
      expect(parentSpanId).toBe(intake.spanId);
    for (const name of ["a", "b"]) {
      const [arrived] = await receiver.arrivals(1, { path: `/published-${name}` });
      expect(arrived!.headers["traceparent"]).toContain(client.traceId);
    }
    expect(claim.body.messages[0].traceparent).toContain(client.traceId);
  });
});

describe("metrics", () => {
  it("are exported with the same names and values as in /metrics", async ({
    service,
    account,
    receiver,
    collector,
  }) => {
    const target = await createWebhookTarget(service, account, receiver.url);
    await send(service, account, target.id, clientSpan());
    await until(
      async () => collector.metrics.filter(({ name }) => name === "postrider_delivery_latency_seconds"),
      (found) => /"count":[1-9]/.test(JSON.stringify(found.at(-1) ?? null)),
    );
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const named = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(new Set(collector.metrics.map(({ name }) => name))).toEqual(new Set(named));
    const attempts = collector.metrics.findLast(({ name }) => name === "postrider_attempts_total");
    expect(attempts).toMatchObject({ sum: { isMonotonic: true, aggregationTemporality: 2 } });
    expect(JSON.stringify(attempts)).toContain('"delivered"');
  });
});

describe("without a collector", () => {
  stage(
    "nothing of a trace is loaded, stored, sent on or answered when none is named",
    async ({ start, receiver, pool }) => {
      const service = await start({ ...saysModules, OTEL_SERVICE_NAME: "named-but-off" });
      const account = await signUp(service);
      const target = await createWebhookTarget(service, account, receiver.url);
      const mailboxId = await createMailboxTarget(service, account);
      const span = clientSpan();
      await send(service, account, target.id, span);
      await send(service, account, mailboxId, span);
      const [received] = await receiver.arrivals(1);
      expect(received!.headers["traceparent"]).toBeUndefined();
      const claim = await service.call("POST", `/api/v1/mailboxes/${mailboxId}/claim`, {
        key: account.api_key,
      });
      expect(claim.body.messages).toHaveLength(1);
      expect(claim.body.messages[0]).not.toHaveProperty("traceparent");
      for (const traceId of [span.traceId, Buffer.from(span.traceId, "hex")])
        expect(await placesOfText(pool, traceId)).toEqual([]);
      // prom-client depends on the API package, which does nothing by itself.
      expect(service.output()).toContain("@opentelemetry/api/");
      expect(service.output()).not.toMatch(/@opentelemetry\/(?!api\/)/);
    },
  );

  stage(
    "items are delivered all the same when it is down, and the log says so once",
    async ({ start, receiver, collector }) => {
      await collector.stop();
      const token = "secret-token-of-the-collector";
      const service = await start({
        ...collector.env,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${token}`,
        OTEL_EXPORTER_OTLP_TIMEOUT: "200",
        OTEL_BSP_MAX_QUEUE_SIZE: "4",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
      });
      const account = await signUp(service);
      const target = await createWebhookTarget(service, account, receiver.url);
      for (let item = 0; item < 30; item++) await send(service, account, target.id, clientSpan());
      await receiver.arrivals(30);
      await until(
        async () => service.output(),
        (output) => output.includes("telemetry cannot be exported"),
      );
      expect(await service.stop()).toBe(0);
      expect(service.output().split("telemetry cannot be exported")).toHaveLength(2);
      expect(service.output()).not.toContain(token);
    },
  );

  for (const mood of ["hanging", "unavailable"] as const) {
    stage(`neither items nor a stop wait for one that is ${mood}`, async ({ start, receiver }) => {
      const stuck = await startCollector(mood);
      onTestFinished(() => stuck.stop());
      const service = await start({
        ...stuck.env,
        // Longer than any test, so that waiting for an answer would be noticed.
        OTEL_EXPORTER_OTLP_TIMEOUT: "600000",
        OTEL_BSP_MAX_QUEUE_SIZE: "4",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
      });
      const account = await signUp(service);
      const target = await createWebhookTarget(service, account, receiver.url);
      await send(service, account, target.id, clientSpan());
      await until(() => stuck.requests() > 0);
      for (let item = 0; item < 30; item++) await send(service, account, target.id, clientSpan());
      await receiver.arrivals(31);
      // A stop that takes too long has another exit code.
      expect(await service.stop()).toBe(0);
    });
  }
});
