import type pg from "pg";
import { expect } from "vitest";
import { periodBounds, periodOf } from "../../../src/billing/ledger.ts";
import { closeCells, openCells } from "../../../src/postgres/cells.ts";
import { createPool } from "../../../src/postgres/pool.ts";
import { databaseTest, file } from "../fixtures.ts";
import { cellCount, isPlain } from "../plain.ts";
import { createLab, type Lab } from "./lab.ts";

let tests = 0;

/** Returns tests with a `lab` each, whose clock begins at `start` (Unix seconds). */
export function labTest(start: number) {
  return databaseTest({ poolSize: 6 })
    .extend("cells", file, ({ database: { connection }, pool }, { onCleanup }) => {
      const options = { connection, size: 3, isPlain, onError: () => undefined };
      const cells = openCells(pool, cellCount, options);
      onCleanup(() => closeCells(cells, pool));
      return cells;
    })
    .extend("home", file, ({ database: { connection }, pool }, { onCleanup }) => {
      if (cellCount === 1) return pool;
      const home = createPool({ connection, size: 3, isPlain, onError: () => undefined });
      onCleanup(() => home.end());
      return home;
    })
    .extend("lab", async ({ pool, cells, home, standIn }, { onCleanup }) => {
      const lab = await createLab(pool, standIn.account(`states_${tests++}`), start, { cells, home });
      onCleanup(() => lab.close());
      return Object.assign(lab, storiesOf(lab, pool));
    });
}

/** Common steps and checks of billing tests. */
function storiesOf(lab: Lab, pool: pg.Pool) {
  return {
    /** Creates a subscribed organization, whose items of the month are exported. */
    async subscribed(items = 0): Promise<{ orgId: string; customer: string; subscription: string }> {
      const orgId = await lab.createOrganization();
      await lab.subscribe(orgId);
      await lab.settleNotices();
      expect(await lab.statusOf(orgId)).toBe("active");
      if (items > 0) {
        await lab.addUsage(orgId, items);
        await lab.exportOnce();
      }
      const { subscriptions } = await lab.account.state();
      const { id, customer } = subscriptions.at(-1)!;
      return { orgId, customer, subscription: id };
    },
    /** Creates a subscribed organization that has used that many items in the month, and does not pay. */
    async unpaid(items: number): Promise<{ orgId: string; customer: string; subscription: string }> {
      const subscribed = await this.subscribed(items);
      await lab.account.control({ action: "card", customer: subscribed.customer, fails: true });
      await this.endMonth();
      return subscribed;
    },
    /** Advances past the month's end and the hour in which the draft is open, while usage is exported. */
    async endMonth(): Promise<void> {
      const { endSeconds } = periodBounds(periodOf(lab.nowSeconds() * 1000));
      for (const second of [0, 300, 3600, 3900]) {
        await lab.setClock(endSeconds + second);
        await lab.exportOnce();
        await lab.settleNotices();
      }
    },
    /** Stores held drafts of a month, as if its usage had missed that many month ends. */
    async holdDrafts(orgId: string, period: number, count: number): Promise<void> {
      await pool.query(
        `insert into held_invoices (invoice_id, org_id, period, held_at)
         select 'in_' || n, $1, $2, n
         from generate_series(1, $3::integer) n`,
        [orgId, period, count],
      );
    },
    async historyOf(orgId: string): Promise<string[]> {
      const { rows } = await pool.query<{ line: string }>(
        `select from_status || ' → ' || to_status || ' by ' || split_part(cause, ' evt', 1) as line
         from billing_state_changes
         where org_id = $1
         order by id`,
        [orgId],
      );
      return rows.map(({ line }) => line);
    },
    /** The changes of the billing state in the audit log, each with its actor. */
    async auditedStates(orgId: string): Promise<string[]> {
      const { rows } = await pool.query<{ line: string }>(
        `select concat(actor_name, ': ', after ->> 'billing_status') as line
         from audit_log
         where org_id = $1
           and action = 'billing.state_changed'
         order by id`,
        [orgId],
      );
      return rows.map(({ line }) => line);
    },
    async graceEnd(orgId: string): Promise<number | null> {
      const { rows } = await pool.query<{ at: number | null }>(
        "select billing_grace_ends_at as at from organizations where id = $1",
        [orgId],
      );
      return rows[0]!.at;
    },
  };
}
