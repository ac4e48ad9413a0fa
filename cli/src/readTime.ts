import { UsageError } from "./exitCodes.ts";

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * A moment in Unix seconds: `15m`, `2h` or `3d` ago, Unix seconds, or a date such as 2026-11-22 or 2026-11-22T10:00:00Z.
 * @throws {UsageError} for anything else.
 */
export function readTime(option: string, text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const [, amount, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Math.floor(nowMs / 1000) - Number(amount) * units[unit!]!;
  if (/^\d{9,11}$/.test(text)) return Number(text);
  const parsedMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(parsedMs)) return Math.floor(parsedMs / 1000);
  throw new UsageError(`--${option} must be such as 15m, 2h, 3d, 2026-11-22T10:00:00Z or Unix seconds`);
}
