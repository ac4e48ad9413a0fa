import {
  copyFileSync,
  existsSync,
  readdirSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../sdk/src/client.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { createEmptyTestDatabase } from "./support/database.ts";
import { type Ended, runDatabaseCommand as run } from "./support/databaseCommand.ts";
import {
  createMailboxTarget,
  createWebhookTarget,
  sendItem,
  sendItems,
  type WebhookTarget,
} from "./support/items.ts";
import { type Load, startLoad } from "./support/load.ts";
import { applyMigrations } from "../src/postgres/applyMigrations.ts";
import { lastBeforeBaseline, migrations } from "../src/postgres/migrations.ts";
import { createPool } from "../src/postgres/pool.ts";
import { newProcessRecord, noteAlive, noteEnd } from "../src/postgres/processes.ts";
import { serviceFile, startProgram } from "./support/program.ts";
import { isSignedWith, type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const place = mkdtempSync(join(clusterFolder(), "postrider-backup-"));
const dataDir = join(place, "data");
const keyFile = join(dataDir, "encryption.key");
const file = join(place, "postrider.backup");
let service: ServiceProcess;
let account: Account;
let receiver: Receiver;
let webhook: WebhookTarget;
let mailbox: string;
let load: Load;
let claimed: { id: string; claim_token: string };
let acknowledgedBefore: string[];

beforeAll(async () => {
  receiver = await startReceiver();
  service = await startService({ storage: { dataDir } });
  account = await signUp(service);
  webhook = await createWebhookTarget(service, account, receiver.url);
  mailbox = await createMailboxTarget(service, account);
  await sendItems(service, account, mailbox, 5);
  const claim = await service.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {
    key: account.api_key,
    body: {},
  });
  claimed = claim.body.messages[0];
  load = startLoad({ service: () => service, account, targetIds: [webhook.id], senders: 4 });
  await until(
    () => load.acknowledged().length,
    (count) => count >= 200,
  );
  acknowledgedBefore = load.acknowledged();
  const backup = startProgram({
    command: [process.execPath, serviceFile, "backup", file, "--json"],
    env: { POSTRIDER_DATA_DIR: dataDir },
  });
  if ((await backup.ended).code !== 0) throw new Error(backup.output());
  await until(
    () => load.acknowledged().length,
    (count) => count >= acknowledgedBefore.length + 50,
  );
  await load.stop();
});

afterAll(async () => {
  await service.stop();
  await receiver.stop();
  rmSync(place, { recursive: true, force: true });
});

describe("a backup of a service under load", () => {
  it("is a file that only its owner can read, which names the encryption key without containing it", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file)).filter((name) => name.endsWith(".partial"))).toEqual([]);
    const unpacked = gunzipSync(readFileSync(file));
    const key = Buffer.from(readFileSync(keyFile, "utf8").trim(), "base64");
    expect(unpacked.includes(key) || unpacked.includes(readFileSync(keyFile, "utf8").trim())).toBe(false);
    expect(JSON.parse(unpacked.subarray(0, unpacked.indexOf("\n")).toString())).toMatchObject({
      format: 1,
      key_fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it("refuses to write over a file", async () => {
    const { code, err } = await run(["backup", file], { POSTRIDER_DATA_DIR: dataDir });
    expect([code, err]).toEqual([5, expect.stringMatching(/already exists/)]);
  });

  it("restores everything into an empty database: items, leases, secrets and the order of messages", async () => {
    const restored = join(place, "restored");
    mkdirSync(restored);
    copyFileSync(keyFile, join(restored, "encryption.key"));
    const { code, err } = await run(["restore", file], { POSTRIDER_DATA_DIR: restored });
    expect([code, err]).toEqual([0, expect.stringMatching(/Verifying/)]);
    const second = await startService({ storage: { dataDir: restored } });
    try {
      await expectThere(second, acknowledgedBefore);
      // The claim made before the backup is still valid, and is acknowledged once.
      const ack = { key: account.api_key, body: { messages: [claimed] } };
      const acked = await second.call("POST", `/api/v1/mailboxes/${mailbox}/ack`, ack);
      expect(acked.body.results).toMatchObject([{ id: claimed.id, ok: true }]);
      // New messages follow the old ones, and deliveries are signed with the old secret.
      const last = await sendItem(second, account, mailbox, { last: true });
      const claim = { key: account.api_key, body: { max: 10 } };
      const { body } = await second.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, claim);
      expect(body.messages).toHaveLength(5);
      expect(body.messages.at(-1).id).toBe(last);
      const sent = await sendItem(second, account, webhook.id, { again: true });
      const received = await until(
        () => receiver.received.find(({ id }) => id === sent),
        (one) => one !== undefined,
      );
      expect(isSignedWith(webhook.secret, received!)).toBe(true);
      const usage = await second.call("GET", "/api/v1/usage", { key: account.api_key });
      expect(usage.body.usage.accepted_events).toBeGreaterThanOrEqual(acknowledgedBefore.length + 5 + 2);
    } finally {
      await second.stop();
    }
    const again = await run(["restore", file], { POSTRIDER_DATA_DIR: restored });
    expect([again.code, again.err]).toEqual([5, expect.stringMatching(/already holds 1 organization/)]);
  });

  it("is restored into an external PostgreSQL, too", async () => {
    const database = await createEmptyTestDatabase();
    try {
      const env = {
        DATABASE_URL: database.url,
        POSTRIDER_ENCRYPTION_KEY: readFileSync(keyFile, "utf8").trim(),
      };
      expect(await run(["restore", file], env)).toMatchObject({ code: 0 });
      const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
      const { rows } = await pool.query<{ id: string }>("select id from events");
      const there = new Set(rows.map(({ id }) => id));
      expect(acknowledgedBefore.filter((id) => !there.has(id))).toEqual([]);
      const unnamed = await pool.query(
        `select c.relname
         from pg_inherits i
         join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'attempts'::regclass
           and c.relreplident <> 'f'`,
      );
      expect(unnamed.rows).toEqual([]);
      const beside = [newProcessRecord("1.2.3"), newProcessRecord("1.2.3")] as const;
      for (const one of beside) await noteAlive(pool, one);
      const running = await run(["reset", "--yes"], env);
      expect([running.code, running.err]).toEqual([
        5,
        expect.stringContaining(`a service runs on the database (on ${beside[0].host}): stop it first`),
      ]);
      for (const one of beside) await noteEnd(pool, one);
      expect(await run(["reset", "--yes"], env)).toMatchObject({ code: 0 });
      expect((await pool.query("select to_regclass('events') as left")).rows).toEqual([{ left: null }]);
      await pool.end();
    } finally {
      await database.drop();
    }
  });

  it("and a reset touch no table of another program, in the same database or in another schema", async () => {
    const database = await createEmptyTestDatabase();
    const env = {
      DATABASE_URL: database.url,
      POSTRIDER_ENCRYPTION_KEY: readFileSync(keyFile, "utf8").trim(),
    };
    const withClient = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        return await work(client);
      } finally {
        await client.end();
      }
    };
    const theirs = () => withClient((client) => client.query("select name, event from their_view"));
    try {
      await withClient((client) =>
        client.query(
          `create table users (id integer primary key, name text);
           create table events (user_id integer references users, event text);
           create view their_view as select name, event from users join events on user_id = id;
           insert into users values (1, 'theirs');
           insert into events values (1, 'kept');`,
        ),
      );
      const before = (await theirs()).rows;
      for (const command of [
        ["restore", file],
        ["reset", "--yes"],
      ]) {
        expect(await run(command, env)).toMatchObject({
          code: 5,
          err: expect.stringMatching(/did not create \(events, users\)/),
        });
        expect((await theirs()).rows).toEqual(before);
      }
      await withClient(async (client) => {
        const { rows } = await client.query<{ name: string }>("select current_database() as name");
        await client.query(
          `create schema ours; alter database ${pg.escapeIdentifier(rows[0]!.name)} set search_path = ours, public`,
        );
      });
      expect(await run(["restore", file], env)).toMatchObject({ code: 0 });
      // The second reset finds no tables of Postrider.
      for (const removed of [true, false]) {
        const reset = await run(["reset", "--yes"], env);
        expect([reset.code, JSON.parse(reset.out)]).toEqual([0, expect.objectContaining({ removed })]);
        expect((await theirs()).rows).toEqual(before);
      }
    } finally {
      await database.drop();
    }
  });

  it("of a development version before 1.0.0 is refused with advice to upgrade, and an empty database gives no backup", async () => {
    const old = await createEmptyTestDatabase();
    const early = join(place, "early.backup");
    const env = { DATABASE_URL: old.url, POSTRIDER_ENCRYPTION_KEY: readFileSync(keyFile, "utf8").trim() };
    const client = new pg.Client({ connectionString: old.url });
    await client.connect();
    try {
      expect(await run(["backup", early], env)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/no tables of Postrider/),
      });
      await applyMigrations({ client }, migrations);
      const leave = (version: number): Promise<unknown> =>
        client.query(
          `delete from schema_changes where version > (select min(version) from schema_changes);
           update schema_changes set version = ${version}, name = 'old', checksum = ''`,
        );
      await leave(lastBeforeBaseline - 1);
      expect(await run(["backup", early], env)).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /was created by a commit before 1\.0\.0: start commit [0-9a-f]{7,} on it once/,
        ),
      });
      await leave(lastBeforeBaseline);
      expect(await run(["backup", early], env)).toMatchObject({
        code: 1,
        err: expect.stringContaining("start this version of the service once"),
      });
      await applyMigrations({ client }, migrations);
      expect(await run(["backup", early], env)).toMatchObject({ code: 0 });
    } finally {
      await client.end();
      await old.drop();
    }
  });

  it("is refused before anything is changed when the key differs or the file is damaged, cut short or of another kind", async () => {
    const fresh = join(place, "fresh");
    const key = readFileSync(keyFile, "utf8").trim();
    const restore = (path: string, value?: string): Promise<Ended> =>
      run(["restore", path], {
        POSTRIDER_DATA_DIR: fresh,
        ...(value !== undefined && { POSTRIDER_ENCRYPTION_KEY: value }),
      });
    const whole = readFileSync(file);
    const broken = (bytes: Buffer): string => {
      writeFileSync(join(place, "broken"), bytes);
      return join(place, "broken");
    };
    expect(await restore(file)).toMatchObject({
      code: 3,
      err: expect.stringMatching(/encrypted with the key [0-9a-f]{16}, which is not configured/),
    });
    expect(await restore(file, Buffer.alloc(32, 9).toString("base64"))).toMatchObject({
      code: 3,
      err: expect.stringMatching(/but the configured key is [0-9a-f]{16}/),
    });
    expect(await restore(broken(whole.subarray(0, whole.length / 2)), key)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/unexpected end of file|cut short/),
    });
    const flipped = Buffer.from(whole);
    flipped[whole.length >> 1]! ^= 0xff;
    expect(await restore(broken(flipped), key)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/broken/),
    });
    expect(await restore(keyFile, key)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/cannot be read|no backup/),
    });
    expect(await restore(join(place, "nowhere"), key)).toMatchObject({
      code: 4,
      err: expect.stringMatching(/no file/),
    });
    for (const path of ["/dev/null", place]) {
      expect(await restore(path, key)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/is a pipe, a folder or a device/),
      });
    }
    expect(existsSync(fresh)).toBe(false);
  });
});

describe("a reset", () => {
  it("asks for confirmation, is refused while a service runs, and keeps the key", async () => {
    const env = { POSTRIDER_DATA_DIR: dataDir };
    expect(await run(["reset"], env)).toMatchObject({ code: 2, err: expect.stringMatching(/--yes/) });
    expect(await run(["reset", "--yes"], env)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is using the data directory/),
    });
    await service.stop();
    expect(await run(["reset", "--yes"], env)).toMatchObject({ code: 0 });
    expect([existsSync(join(dataDir, "postgresql")), existsSync(keyFile)]).toEqual([false, true]);
    expect(await run(["backup", join(place, "none")], env)).toMatchObject({
      code: 4,
      err: expect.stringMatching(/no database/),
    });
  });
});

/** Expects that every one of the items can be read from this service. */
async function expectThere(there: ServiceProcess, ids: readonly string[]): Promise<void> {
  const client = createClient({ baseUrl: there.url, apiKey: account.api_key });
  const found = new Set<string>();
  for await (const { id } of client.allEvents()) found.add(id);
  expect(ids.filter((id) => !found.has(id))).toEqual([]);
}
