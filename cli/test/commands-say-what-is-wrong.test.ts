import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { createWebhookTarget, sendItem } from "../../server/test/support/items.ts";
import { startProgram } from "../../server/test/support/program.ts";
import { storeDueItems } from "../../server/test/support/storedItems.ts";
import { signUp } from "../../server/test/support/testNode.ts";
import { until } from "../../server/test/support/until.ts";
import { clientTest as it } from "./support/clientTest.ts";
import { clientFile, nowhere, run, start } from "./support/command.ts";

/* A command that fails prints a sentence, exits with the code for the kind of failure, and never prints a credential. */

it.beforeAll(async ({ env }) => {
  await run(["target", "create", "webhook", "--name", "orders", "--url", "http://127.0.0.1:9/"], { env });
});

describe("exit codes", () => {
  const refusals = [
    [
      "a wrong key",
      ["target", "list"],
      { POSTRIDER_KEY: "ak_live_" + "0".repeat(64) },
      3,
      /invalid|unauthorized|key/i,
    ],
    ["no key", ["target", "list"], { POSTRIDER_KEY: "" }, 3, /POSTRIDER_KEY/],
    ["an unknown target", ["send", "nowhere", "-"], {}, 4, /there is no target "nowhere"/],
    ["an unknown item", ["item", "get", "0".repeat(32)], {}, 4, /not found/],
    ["a file that is not there", ["send", "orders", "/nowhere/at-all"], {}, 4, /cannot read/],
    ["a conflict", ["mailbox", "stats", "orders"], {}, 5, /not a mailbox/],
    ["a wrong value", ["target", "create", "webhook", "--name", "x", "--url", "nonsense"], {}, 2, /url/i],
    [
      "a service that is away",
      ["target", "list"],
      { POSTRIDER_URL: nowhere },
      1,
      /could not be reached.*ECONNREFUSED.*doctor/,
    ],
    ["no URL", ["target", "list"], { POSTRIDER_URL: "nonsense" }, 2, /must be a URL/],
  ] as const;

  it.for(refusals)("report %s", async ([_what, args, more, code, text], { env }) => {
    const ended = await run(args, { env: { ...env, ...more } });
    expect([ended.code, ended.out]).toEqual([code, ""]);
    expect(ended.err).toMatch(text);
  });

  it.for<[string[], RegExp]>([
    [["target"], /a subcommand is missing: target list/],
    [["target", "sell"], /there is no command "target sell"/],
    [["sell"], /there is no command "sell"/],
    [["target", "list", "--colour"], /--colour/],
    [["send", "orders"], /<file> is missing/],
    [["target", "list", "more"], /unexpected argument "more"/],
    [["item", "list", "--status", "LOST"], /--status must be one of QUEUED/],
    [["item", "list", "--limit", "0"], /--limit must be a whole number/],
    [["replay", "--target", "orders", "--rate", "1001"], /--rate must be a whole number from 1 to 1000$/m],
    [["mailbox", "claim", "orders", "--lease", "43201"], /--lease must be a whole number from 5 to 43200$/m],
    [
      ["target", "create", "webhook", "--name", "x", "--max-retries", "51"],
      /--max-retries must be .* from 0 to 50$/m,
    ],
    [
      ["target", "create", "webhook", "--name", "x", "--retry-interval", "0"],
      /--retry-interval must be .* from 1 to 86400$/m,
    ],
    [
      ["item", "list", "--since", "-1h"],
      /^postrider: Option '--since' argument is ambiguous\. Did you .*\.$/m,
    ],
    [
      ["target", "create", "mailbox", "--name", "x", "--max-claims", "0"],
      /--max-claims must be .* from 1 to 1000$/m,
    ],
    [["item", "list", "--since", "yesterday"], /--since must be a time such as/],
    [["item", "list", "--since", "2026-02-30"], /--since must be a time such as/],
    [["stats", "--until", "2026-04-31T10:00:00Z"], /--until must be a time such as/],
    [["replay"], /name items, or give a filter/],
    [["mailbox", "work", "inbox"], /name the command to run/],
    [["listen", "inbox"], /--forward-to is missing/],
    [["listen", "inbox", "--forward-to", "http://me:pass@127.0.0.1:1"], /must not contain a user name/],
    [["serve"], /npx node server\/bin\/postrider\.cjs serve\n$/],
    [["org", "create", "--name", "x"], /npx node server\/bin\/postrider\.cjs org\n$/],
    [["db", "worker", "add", "postgres://w1"], /npx node server\/bin\/postrider\.cjs db\n$/],
    [["reset-password"], /npx node server\/bin\/postrider\.cjs reset-password\n$/],
    [
      ["target", "list", "--server", `http://ak_live_${"0".repeat(64)}`],
      /do not pass an API key as an argument/,
    ],
  ])("report a wrong command line: %j", async ([args, text], { env }) => {
    const ended = await run(args, { env });
    expect([ended.code, ended.out]).toEqual([2, ""]);
    expect(ended.err).toMatch(text);
    expect(ended.err).not.toContain("ak_live_");
  });
});

describe("another service at the address", () => {
  it("is reported as something other than Postrider, with its URL and its status", async ({ env }) => {
    const stranger = await strangerOf((response) => response.setHeader("x", "y").end('{"status":"ok"}'));
    for (const args of [
      ["target", "list"],
      ["item", "list"],
      ["send", "0".repeat(32), "-"],
    ]) {
      const ended = await run(args, { env: { ...env, POSTRIDER_URL: stranger.url }, input: "{}" });
      expect([ended.code, ended.out]).toEqual([1, ""]);
      expect(ended.err).toMatch(
        /the answer 200 of http:\S+ (has no|is not|does not) .*is this the address of a Postrider/,
      );
    }
    const doctor = await run(["doctor"], { env: { ...env, POSTRIDER_URL: stranger.url } });
    expect([doctor.code, doctor.err]).toEqual([1, "postrider: Postrider does not answer at this address\n"]);
    expect(doctor.out).toMatch(
      /^wrong  service: http:\S+ answers 200 \{"status":"ok"\}\n +another service or a proxy answers .*\n$/,
    );
    await stranger.close();
  });

  it.for([
    [["target", "list"], '{"targets":null}'],
    [["item", "get", "0".repeat(32)], '{"event":{}}'],
    [["item", "get", "0".repeat(32)], '{"event":{"created_at":99999999999999},"delivery_attempts":[]}'],
    [["login"], '{"org":null}'],
  ] as const)("that answers %j in another form is named", async ([args, body], { env }) => {
    const stranger = await strangerOf((response) => response.end(body));
    const around = { env: { ...env, POSTRIDER_URL: stranger.url }, input: `ak_live_${"0".repeat(64)}\n` };
    const ended = await run(args, around);
    expect([ended.code, ended.out]).toEqual([1, ""]);
    expect(ended.err).toMatch(
      new RegExp(`^postrider: ${stranger.url} answered .* is this the address of a Postrider service\\?\n$`),
    );
    await stranger.close();
  });

  it("that is ready with warnings is shown with them, and its clock may be the wrong one", async ({
    env,
  }) => {
    const stranger = await strangerOf((response) =>
      response
        .writeHead(200, { date: new Date(Date.now() - 3_600_000).toUTCString() })
        .end('{"status":"ready","warnings":["fsync is off"]}'),
    );
    const { out } = await run(["doctor"], { env: { ...env, POSTRIDER_URL: stranger.url } });
    expect(out).toMatch(
      /^ok {5}service: .* is ready; warning: fsync is off\nwrong  clock: .*\n +compare date -u on both/,
    );
    await stranger.close();
  });

  it("that answers 503 is a problem of the service, not of the credential", async ({ env }) => {
    const stranger = await strangerOf((response) => response.writeHead(503).end('{"error":"no database"}'));
    const { code, out, err } = await run(["doctor"], { env: { ...env, POSTRIDER_URL: stranger.url } });
    expect([code, err]).toEqual([1, "postrider: no database\n"]);
    expect(out).toMatch(/^wrong  service: .*\n +the service runs but is not ready.*\n/);
    expect(out).not.toContain("credential");
    await stranger.close();
  });

  it("that does not answer is named in a message while the command waits", async ({ env }) => {
    const waiting: ServerResponse[] = [];
    const stranger = await strangerOf((response) => waiting.push(response));
    const list = start(["target", "list"], { ...env, POSTRIDER_URL: stranger.url });
    await list.says(new RegExp(`waiting for ${stranger.url}/api/v1/targets to answer\n`));
    waiting.forEach((response) => response.end('{"targets":[]}'));
    expect((await list.ended).code).toBe(0);
    await stranger.close();
  });

  it("that does not answer an acknowledgement is named in a message while a consumer waits", async ({
    env,
  }) => {
    const id = "0".repeat(32);
    const message = { id, claim_token: id, event_type: null, correlation_id: null, claim_count: 1 };
    const stranger = await strangerOf((response, url) => {
      if (url.endsWith("/claim")) response.end(JSON.stringify({ messages: [message] }));
      else if (!url.endsWith("/ack")) response.end(JSON.stringify({ id, name: "inbox", kind: "mailbox" }));
    });
    const args = ["mailbox", "work", id, "--", "true"];
    const work = start(args, { ...env, POSTRIDER_URL: stranger.url });
    await work.says(new RegExp(`waiting for ${stranger.url}/api/v1/mailboxes/0+/ack to answer\n`));
    work.kill("SIGKILL");
    await work.ended;
    await stranger.close();
  });

  async function strangerOf(answer: (response: ServerResponse, url: string) => void) {
    const server = createServer(({ url = "" }, response) => answer(response, url));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
  }
});

describe("a credential", () => {
  it.for([
    [["target", "list"], /^$/],
    [["doctor"], /wrong  credential: the API key contains a blank/],
  ] as const)(
    "that no header can carry is not printed by %j",
    async ([command, shown], { service, account }) => {
      const env = { POSTRIDER_URL: service.url, POSTRIDER_KEY: `${account.api_key}\n${account.api_key}` };
      const { code, out, err } = await run([...command], { env });
      expect([code, out]).toEqual([3, expect.stringMatching(shown)]);
      expect(err).toMatch(/^postrider: the API key contains a blank, a line break or another character/);
      expect(out + err).not.toContain(account.api_key);
    },
  );

  it("is checked by login, and stored in a file for its owner only", async ({ service, account, place }) => {
    const config = join(place, "login");
    const around = { XDG_CONFIG_HOME: config, POSTRIDER_URL: service.url };
    const wrong = await run(["login"], { env: around, input: "ak_live_wrong\n" });
    expect([wrong.code, existsSync(join(config, "postrider/profiles.json"))]).toEqual([3, false]);
    const right = await run(["login", "--json"], { env: around, input: `${account.api_key}\n` });
    expect(right.code).toBe(0);
    expect(right.out + right.err).not.toContain(account.api_key);
    const file = join(config, "postrider/profiles.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);

    expect((await run(["target", "list"], { env: { XDG_CONFIG_HOME: config } })).code).toBe(0);
    const elsewhere = await run(["target", "list", "--server", nowhere], {
      env: { XDG_CONFIG_HOME: config },
    });
    expect([elsewhere.code, elsewhere.err]).toEqual([3, expect.stringMatching(/is for http.*not for/)]);

    const nowhereToStore = await run(["login"], {
      env: { ...around, XDG_CONFIG_HOME: "/proc/none" },
      input: account.api_key,
    });
    expect([nowhereToStore.code, nowhereToStore.err]).toEqual([1, expect.stringContaining("'/proc/none'")]);

    const renewed = await run(["login", "--json"], {
      env: { XDG_CONFIG_HOME: config },
      input: account.api_key,
    });
    expect([renewed.code, renewed.json()]).toEqual([0, [expect.objectContaining({ url: service.url })]]);

    chmodSync(file, 0o644);
    const open = await run(["target", "list"], { env: { XDG_CONFIG_HOME: config } });
    expect([open.code, open.err]).toEqual([3, expect.stringMatching(/chmod 600/)]);
    chmodSync(file, 0o600);
    const out = await run(["logout", "--json"], { env: around });
    expect([out.code, out.json()]).toEqual([0, [{ profile: "default", deleted: true }]]);
    expect((await run(["target", "list"], { env: around })).code).toBe(3);
  });

  it.for(["null", "[]", '{"default":null}', '{"default":{"url":5}}', "{"])(
    "is missing when the file of profiles contains %s, and the message says to log in again",
    async (text, { place }) => {
      const config = join(place, "broken");
      const file = join(config, "postrider/profiles.json");
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { mode: 0o600 });
      const { code, err } = await run(["target", "list"], { env: { XDG_CONFIG_HOME: config } });
      expect([code, err]).toEqual([
        3,
        expect.stringMatching(/profiles\.json cannot be read \(.+\): remove it, and log in again\n$/),
      ]);
    },
  );

  it("is not found in a profile with the name of a property of every object", async ({ place }) => {
    const env = { XDG_CONFIG_HOME: join(place, "no profiles") };
    const { code, err } = await run(["target", "list", "--profile", "constructor"], { env });
    expect([code, err]).toEqual([3, expect.stringContaining('there is no profile "constructor"')]);
  });

  it("that the service does not know is refused with advice", async ({ env }) => {
    const ended = await run(["target", "list"], {
      env: { ...env, POSTRIDER_KEY: `ak_live_${"0".repeat(64)}` },
    });
    expect(ended.err).toMatch(/does not accept the API key.*create one in the dashboard.*postrider login\n$/);
  });

  it("is read from standard input with --key-stdin", async ({ service, account }) => {
    const listed = await run(["target", "list", "--key-stdin", "--json"], {
      env: { POSTRIDER_URL: service.url },
      input: account.api_key,
    });
    expect([listed.code, listed.json().length > 0]).toEqual([0, true]);
  });
});

it("a command whose output cannot be written fails with a message", async ({ env }) => {
  const command = ["bash", "-c", '"$@" > /dev/full', "bash", process.execPath, clientFile, "version"];
  const full = startProgram({ command, env });
  expect(await full.ended).toMatchObject({ code: 1 });
  expect(full.output()).toMatch(/^postrider: cannot write the output: .*ENOSPC.*\n$/);
});

it("the doctor says so when counting the items that wait for a disabled target stopped at a limit", async ({
  service,
  receiver,
  env,
  pool,
}) => {
  const owner = await signUp(service);
  receiver.answer = (_request, response) => void response.writeHead(410).end();
  const { id } = await createWebhookTarget(service, owner, receiver.url);
  await sendItem(service, owner, id, { n: 1 });
  const doctor = () => run(["doctor"], { env: { ...env, POSTRIDER_KEY: owner.api_key } });
  await until(doctor, ({ out }) => / 0 items wait for it/.test(out));
  await storeDueItems(pool, { orgId: owner.user.org_id, targetId: id, count: 2_501 });
  expect((await doctor()).out).toMatch(/ 2500 or more items wait for it/);
});
