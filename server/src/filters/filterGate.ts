import type pg from "pg";
import { createUpgradeGate, type UpgradeGate } from "../items/upgradeGate.ts";

/** The migration from which on a process heeds filters. */
const filtersMigration = 35;

/** Lets targets have filters only where every process heeds them. */
export function createFilterGate(pool: pg.Pool): UpgradeGate {
  return createUpgradeGate(pool, { migration: filtersMigration, cannot: "heed filters" });
}
