import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished } from "vitest";
import { createMailboxTarget, sendItem } from "../../server/test/support/items.ts";
import { startProgram } from "../../server/test/support/program.ts";
import { answerOk } from "../../server/test/support/receiver.ts";
import { startScriptedAgent } from "../../server/test/support/scriptedAgent.ts";
import { signUp } from "../../server/test/support/testNode.ts";
import { until } from "../../server/test/support/until.ts";
import { clientTest as it } from "./support/clientTest.ts";
import { clientFile, nowhere, run, start } from "./support/command.ts";

describe("targets and items", () => {
  it("are created, sent, listed, read and replayed, and standard output contains only data", async ({
    receiver,
    place,
    env,
  }) => {
    const made = await run(
      ["target", "create", "webhook", "--name", "orders", "--url", receiver.url, "--json"],
      { env },
    );
    expect([made.code, made.err]).toEqual([0, ""]);
    const [target] = made.json();
    expect(target).toMatchObject({
      kind: "webhook",
      name: "orders",
      secret: expect.stringMatching(/^whsec_/),
    });

    const file = join(place, "order.json");
    const bytes = '{ "order": 12345678901234567890,  "event_type": "order.created" }';
    writeFileSync(file, bytes);
    const sent = await run(["send", "orders", file, "--correlation-id", "c-1", "--json"], { env });
    expect(sent.code).toBe(0);
    const [{ id }] = sent.json();
    const [delivered] = await receiver.arrivals(1);
    expect([delivered!.id, delivered!.body.toString()]).toEqual([id, bytes]);

    const piped = await run(["send", target.id, "-"], { env, input: '{"order": 2}' });
    expect([piped.code, piped.out]).toEqual([
      0,
      expect.stringMatching(/^id +[0-9a-f]{32}\nstatus +QUEUED\n$/),
    ]);

    const list = async (): Promise<{ status: string }[]> =>
      (await run(["item", "list", "--target", "orders", "--json"], { env })).json();
    await until(list, (items) => items.length === 2 && items.every(({ status }) => status === "DELIVERED"));
    expect((await run(["item", "list", "--event-type", "order.created"], { env })).out).toMatch(
      new RegExp(`^ID .*\n${id}  \\S+ \\S+  DELIVERED  1 .* order.created\n$`),
    );

    const payload = await run(["item", "get", id, "--payload"], { env });
    expect(payload.out).toBe(bytes);
    const whole = await run(["item", "get", id, "--json"], { env });
    expect(whole.json()[0]).toMatchObject({
      event: { id, correlation_id: "c-1" },
      delivery_attempts: [{ status_code: 200 }],
    });

    const dry = await run(["replay", "--target", "orders", "--status", "DELIVERED", "--dry-run", "--json"], {
      env,
    });
    expect(dry.json()[0]).toMatchObject({ count: 2 });
    expect(receiver.received).toHaveLength(2);
    const none = await run(["replay", "--target", "orders", "--status", "FAILED", "--dry-run", "--json"], {
      env,
    });
    expect(none).toMatchObject({ code: 0, err: "no item matches the filter\n" });
    expect(JSON.parse(none.out)).toMatchObject({ count: 0 });
    const again = await run(["replay", id, "--json"], { env });
    expect(again.json()[0]).toMatchObject({ source_event_id: id });
    await receiver.arrivals(3);
    // Waits, because items in progress are not replayed.
    await until(list, (items) => items.length === 3 && items.every(({ status }) => status === "DELIVERED"));
    const matching = ["replay", "--target", "orders", "--event-type", "order.created", "--json"];
    expect(await run(matching, { env })).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining("2 items match the filter: add --yes to replay them all"),
    });
    expect(receiver.received).toHaveLength(3);
    const all = await run([...matching, "--yes", "--new-webhook-id"], { env });
    expect(all.json()[0]).toMatchObject({ status: "RUNNING", include_replayed: false });
    const arrived = await receiver.arrivals(5);
    // The single replay kept the webhook-id; the two replays with --new-webhook-id have new ones.
    expect(arrived[2]!.id).toBe(id);
    expect(new Set(arrived.map((one) => one.id)).size).toBe(4);
  });

  it("with an agent: its other origin is confirmed, and its answer is shown with the item", async ({
    env,
  }) => {
    const agent = await startScriptedAgent();
    onTestFinished(() => agent.stop());
    const cardUrl = agent.cardUrl.replace("127.0.0.1", "localhost");
    const create = ["target", "create", "a2a", "--name", "helper", "--card-url", cardUrl];
    const withToken = { env: { ...env, POSTRIDER_AGENT_TOKEN: "a-token-of-16-letters" } };
    const { origin } = new URL(agent.cardUrl);
    expect(await run(create, withToken)).toMatchObject({ code: 5, err: expect.stringContaining(origin) });
    const made = await run([...create, "--confirm-origin", origin, "--json"], withToken);
    const [target] = made.json();
    const sent = await run(["send", target.id, "-", "--json"], { env, input: '"hello"' });
    const get = ["item", "get", sent.json()[0].id];
    const { out } = await until(
      () => run(get, { env }),
      (shown) => shown.out.includes("DELIVERED"),
    );
    expect(out).toMatch(/^status_message +done$/m);
    expect(out).toMatch(/^outcome +COMPLETED$/m);
  });

  it("are held while their target is disabled, and its signing secret can be rotated", async ({ env }) => {
    await run(["target", "disable", "orders"], { env });
    await run(["send", "orders", "-"], { env, input: "{}" });
    const got = await run(["target", "get", "orders", "--json"], { env });
    expect(got.json()[0]).toMatchObject({ enabled: false, held: 1 });
    const enabled = await run(["target", "enable", "orders", "--json"], { env });
    expect(enabled.json()[0]).toMatchObject({ enabled: true });

    const rotated = (await run(["target", "rotate", "orders", "--json"], { env })).json()[0];
    expect(rotated).toMatchObject({
      has_previous_signing_secret: true,
      secret: expect.stringMatching(/^whsec_/),
    });
    const ended = (await run(["target", "rotate", "orders", "--end", "--json"], { env })).json()[0];
    expect(ended).toMatchObject({ has_previous_signing_secret: false });
  });

  it("are tested with a test item", async ({ env }) => {
    const tested = await run(["target", "test", "orders", "--json"], { env });
    expect(tested.code).toBe(0);
    expect(tested.json()[0]).toMatchObject({ delivered: true, status_code: 200 });
  });

  it("show as a date since when a target has been failing", async ({ env }) => {
    await run(["target", "create", "webhook", "--name", "away", "--url", "http://127.0.0.1:9/"], { env });
    await run(["send", "away", "-"], { env, input: "{}" });
    const got = await until(
      () => run(["target", "get", "away"], { env }),
      ({ out }) => /^failing_since +[^ -]/m.test(out),
    );
    expect(got.out).toMatch(/^failing_since +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/m);
    await run(["target", "delete", "away", "--yes"], { env });
  });

  it("are shown by item tail as they are accepted", async ({ env }) => {
    const tail = start(["item", "tail", "--target", "orders"], env);
    await tail.says(/showing items/);
    const [{ id }] = (await run(["send", "orders", "-", "--json"], { env, input: "{}" })).json();
    await tail.says(new RegExp(id));
    tail.kill("SIGINT");
    expect(await tail.ended).toEqual({ code: 0, signal: null });
  });
});

describe("a publication", () => {
  it("is sent to a customer's targets, listed, shown, and replayed to added or failed targets", async ({
    service,
    account,
    place,
    env,
  }) => {
    const customer = { key: account.api_key, body: {} };
    await service.call("PUT", "/api/v1/customers/shop-7", customer);
    const mailbox = (name: string) =>
      service.call("POST", "/api/v1/targets", {
        key: account.api_key,
        body: { kind: "mailbox", name, customer_uid: "shop-7" },
      });
    const { body: first } = await mailbox("first");
    const file = join(place, "paid.json");
    writeFileSync(file, '{ "event_type": "order.paid" }');
    const sent = await run(["publish", file, "--customer", "shop-7", "--json"], { env });
    expect([sent.code, sent.err]).toEqual([0, ""]);
    const [{ id, items }] = sent.json();
    expect(items).toMatchObject([{ target_id: first.id, status: "UNREAD" }]);
    const listed = await run(["publication", "list", "--customer", "shop-7"], { env });
    expect(listed.out).toMatch(new RegExp(`^ID .*\n${id}  \\S+ \\S+  shop-7  +1  +order.paid\n$`));
    const { body: second } = await mailbox("second");
    const replay = (to: string) => run(["publication", "replay", id, "--to", to], { env });
    expect((await replay("added")).out).toMatch(new RegExp(`^${second.id} -> [0-9a-f]{32}  UNREAD\n$`));
    expect(await replay("failed")).toMatchObject({ code: 0, out: "", err: "nothing was sent\n" });
    const shown = (await run(["publication", "get", id], { env })).out;
    expect(shown).toMatch(/customer_uid +shop-7\n/);
    expect(shown).toMatch(new RegExp(`\n${items[0].id}  ${first.id}  UNREAD`));
    const piped = await run(["publish", "-"], { env, input: "{}" });
    expect(piped.out).toMatch(/^id +[0-9a-f]{32}\nitems +\d/);
    expect(await run(["publication", "replay", id], { env })).toMatchObject({ code: 2 });
    expect((await run(["publish", file, "--customer", "nobody"], { env })).code).toBe(4);
  });
});

describe("a mailbox", () => {
  it("shows its statistics, and its messages are claimed and acknowledged", async ({ env }) => {
    const [mailbox] = (
      await run(["target", "create", "mailbox", "--name", "inbox", "--json"], { env })
    ).json();
    await run(["send", "inbox", "-"], { env, input: '{"task": 1}' });
    const [stats] = (await run(["mailbox", "stats", "inbox", "--json"], { env })).json();
    expect(stats).toMatchObject({ ready: 1 });
    const [message] = (await run(["mailbox", "claim", mailbox.id, "--wait", "5", "--json"], { env })).json();
    expect(message).toMatchObject({ payload: { task: 1 }, status: "CLAIMED" });
    const acked = await run(["mailbox", "ack", message.id, "--claim-token", message.claim_token, "--json"], {
      env,
    });
    expect(acked.json()[0]).toEqual({ id: message.id, status: "ACKNOWLEDGED" });
    const none = await run(["mailbox", "claim", "inbox"], { env });
    expect([none.code, none.out]).toEqual([0, ""]);
  });

  it("has the numbers of its payloads printed as they were sent", async ({ env }) => {
    const input = '{"order":12345678901234567890,"price":1.10}';
    await run(["target", "create", "mailbox", "--name", "numbers"], { env });
    await run(["send", "numbers", "-"], { env, input });
    const { out } = await run(["mailbox", "claim", "numbers", "--wait", "5", "--json"], { env });
    expect(out).toContain(`"payload":${input}`);
  });

  it("has several messages acknowledged by one command", async ({ env }) => {
    await run(["target", "create", "mailbox", "--name", "several"], { env });
    await run(["send", "several", "-"], { env, input: "1" });
    await run(["send", "several", "-"], { env, input: "2" });
    const claimed = (await run(["mailbox", "claim", "several", "--max", "2", "--json"], { env })).json();
    const ids = claimed.map(({ id }) => id);
    const acked = await run(["mailbox", "ack", ...ids, "--json"], { env });
    expect([acked.code, acked.json()]).toEqual([0, ids.map((id) => ({ id, status: "ACKNOWLEDGED" }))]);
  });

  it.for(["/nonexistent/handle", "no-such-program", "/"])(
    "is not claimed from for a program that cannot be run: %s",
    async (file, { env }) => {
      const ended = await run(["mailbox", "work", "jobs", "--", file], { env });
      expect([ended.code, ended.out, ended.err]).toEqual([
        4,
        "",
        `postrider: there is no program "${file}" that can be run\n`,
      ]);
    },
  );

  it("is processed by a program, whose exit code acknowledges or rejects the message", async ({ env }) => {
    await run(["target", "create", "mailbox", "--name", "jobs"], { env });
    for (const code of [0, 65]) await run(["send", "jobs", "-"], { env, input: JSON.stringify({ code }) });
    const script = `
      let text = "";
      process.stdin.on("data", (part) => (text += part)).on("end", () => {
        console.log(text, process.env.POSTRIDER_MESSAGE_ID.length, process.env.POSTRIDER_KEY ?? "no key");
        process.exitCode = JSON.parse(text).code;
      });`;
    const work = start(["mailbox", "work", "jobs", "--", process.execPath, "-e", script], env);
    await work.says(/\{"code":0\} 32 no key\n/);
    await work.says(/\{"code":65\} 32 no key\n/);
    const stats = async (): Promise<Record<string, number>> =>
      (await run(["mailbox", "stats", "jobs", "--json"], { env })).json()[0];
    await until(stats, ({ ready, claimed, dead }) => ready === 0 && claimed === 0 && dead === 1);
    work.kill("SIGTERM");
    expect((await work.ended).code).toBe(0);
  });
});

describe("a key that may only consume one mailbox", () => {
  it("logs in, passes the doctor, works the mailbox by its id, and is told why a name is refused", async ({
    service,
    env,
    place,
  }) => {
    const owner = await signUp(service);
    const mailbox = await createMailboxTarget(service, owner);
    await sendItem(service, owner, mailbox, { n: 1 });
    const { body: limited } = await service.call("POST", "/api/v1/keys", {
      session: owner.session_token,
      body: { name: "consumer", scope: "consume", mailbox_ids: [mailbox] },
    });
    const stored = { POSTRIDER_URL: env["POSTRIDER_URL"]!, XDG_CONFIG_HOME: join(place, "limited") };
    const login = await run(["login", "--json"], { env: stored, input: `${limited.key}\n` });
    expect(login.json()[0]).toMatchObject({ organization: owner.user.org_id });
    const well = await run(["doctor"], { env: stored });
    expect([well.code, well.out]).toEqual([
      0,
      expect.stringMatching(/limited to a scope\n(.*\n)*.*not checked/),
    ]);
    const named = await run(["mailbox", "work", "inbox", "--", "true"], { env: stored });
    expect([named.code, named.err]).toEqual([3, expect.stringContaining("give the target's id")]);
    const work = start(["mailbox", "work", mailbox, "--", "cat"], stored);
    await work.says(/"n": ?1/);
    work.kill("SIGTERM");
    expect((await work.ended).code).toBe(0);
  });
});

describe("Ctrl-C, which a terminal sends to the whole process group,", () => {
  it("lets the running programs finish, and the second one ends them", async ({ env, place }) => {
    await run(["target", "create", "mailbox", "--name", "slow"], { env });
    for (const turn of [1, 2]) await run(["send", "slow", "-"], { env, input: `{"turn": ${turn}}` });
    const script = `
      const { existsSync } = require("node:fs");
      const looking = setInterval(() => existsSync(process.argv[1]) && clearInterval(looking), 20);
      console.log("begun");`;
    const goOn = join(place, "go-on");
    const begin = async () => {
      // With a command after the program, the shell starts a child instead of replacing itself by the program (exec).
      const shell = ["sh", "-c", '"$0" "$@"; exit $?', process.execPath, "-e", script, goOn];
      const work = start(["mailbox", "work", "slow", "--", ...shell], env);
      await work.says(/begun/);
      process.kill(-work.pid, "SIGINT");
      return work;
    };
    const ended = await begin();
    writeFileSync(goOn, "");
    expect((await ended.ended).code).toBe(0);
    expect(ended.output()).toMatch(/ done\n/);
    rmSync(goOn);
    const broken = await begin();
    await until(
      () => {
        broken.kill("SIGINT");
        return Promise.race([broken.ended, delay(100)]);
      },
      (end) => end !== undefined,
    );
    expect((await broken.ended).code).toBe(130);
    expect(broken.output()).not.toContain("done");
  });
});

describe("SIGHUP, which ends a program when its terminal closes,", () => {
  /** Starts `mailbox work` on a new mailbox, with a shell's words before it; each message ends when `goOn` exists. */
  const begin = async (
    { env, place }: { env: Record<string, string>; place: string },
    name: string,
    shell: (line: string) => readonly string[],
  ) => {
    await run(["target", "create", "mailbox", "--name", name], { env });
    const goOn = join(place, `${name}-goes-on`);
    const program = `echo begun; while [ ! -e ${goOn} ]; do sleep 0.05; done`;
    const line = `'${process.execPath}' '${clientFile}' mailbox work ${name} -- sh -c '${program}'`;
    const command = shell(line);
    // A test run that was itself started by nohup must not pass that on.
    const work = startProgram({ command, env: { ...env, _: "" }, isLeader: true });
    await run(["send", name, "-"], { env, input: "{}" });
    await work.says(/begun/);
    process.kill(-work.pid, "SIGHUP");
    return { work, finish: () => writeFileSync(goOn, "") };
  };

  it("lets the running program finish", async ({ env, place }) => {
    const { work, finish } = await begin({ env, place }, "hung-up", (line) => ["sh", "-c", `exec ${line}`]);
    finish();
    expect(await work.ended).toEqual({ code: 0, signal: null });
    expect(work.output()).toMatch(/ done\n/);
  });

  it.for([
    ["nohup", "nohup", (line: string) => ["bash", "-c", `nohup ${line}; exit $?`]],
    ["a parent that ignores it", "ignoring", (line: string) => ["sh", "-c", `trap '' HUP; ${line}; exit $?`]],
  ] as const)("is ignored if it was ignored at the start, by %s", async ([, name, shell], { env, place }) => {
    const { work, finish } = await begin({ env, place }, name, shell);
    finish();
    await work.says(/ done\n/);
    await run(["send", name, "-"], { env, input: "{}" });
    await work.says(/ done\n(.*\n)*.* done\n/);
    process.kill(-work.pid, "SIGTERM");
    await work.ended;
  });
});

describe("a reader that closes the pipe", () => {
  it("ends listen, which releases the messages in progress", async ({ env, receiver, onTestFinished }) => {
    onTestFinished(() => void (receiver.answer = answerOk));
    await run(["target", "create", "mailbox", "--name", "read"], { env });
    const send = (body: string) => run(["send", "read", "-"], { env, input: body });
    receiver.answer = ({ body }, response) => {
      // The first message stays in progress.
      if (body.toString() !== "1") response.writeHead(200).end();
    };
    await send("1");
    const line = `'${process.execPath}' '${clientFile}' listen read --concurrency 2 --forward-to ${receiver.url}`;
    const listen = startProgram({ command: ["sh", "-c", `${line} | head -1`], env });
    await until(
      async () => {
        await send("2");
        return Promise.race([listen.ended, delay(100)]);
      },
      (end) => end !== undefined,
    );
    const stats = (await run(["mailbox", "stats", "read", "--json"], { env })).json()[0];
    expect(stats).toMatchObject({ claimed: 0 });
  });
});

describe("the doctor", () => {
  it("reports that it found no problems, or each problem with its remedy", async ({ service, env }) => {
    const fresh = await signUp(service);
    const well = await run(["doctor"], { env: { ...env, POSTRIDER_KEY: fresh.api_key } });
    expect([well.code, well.err]).toEqual([0, "no problems found\n"]);
    const away = await run(["doctor"], { env: { ...env, POSTRIDER_URL: nowhere } });
    expect([away.code, away.out]).toEqual([
      1,
      expect.stringMatching(/wrong  service: .*ECONNREFUSED.*\n.*postrider serve/),
    ]);
    const refused = await run(["doctor"], { env: { ...env, POSTRIDER_KEY: `ak_live_${"1".repeat(64)}` } });
    expect([refused.code, refused.out]).toEqual([
      3,
      expect.stringMatching(/wrong  credential: .*\n.*postrider login/),
    ]);
    const keyless = await run(["doctor"], { env: { POSTRIDER_URL: service.url } });
    expect([keyless.code, keyless.out]).toEqual([
      3,
      expect.stringMatching(/ok {5}service: .*\n(.*\n)*wrong  credential: no API key: set POSTRIDER_KEY/),
    ]);
    const dead = await run(["doctor", "--json"], { env });
    expect(dead.code).toBe(1);
    expect(dead.json()).toContainEqual(
      expect.objectContaining({
        check: "target jobs",
        ok: false,
        advice: expect.stringContaining("--status DEAD"),
      }),
    );
  });
});
