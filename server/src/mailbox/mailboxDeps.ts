import type { FastifyRequest } from "fastify";
import type pg from "pg";
import { presentedKey } from "../http/contract/credentials.ts";
import type { Config } from "../config/config.ts";
import { unauthorized } from "../http/contract/errors.ts";
import type { ReadDeps } from "./message/findMailbox.ts";
import type { Mailboxes } from "./mailboxes.ts";

/** What the routes of mailboxes work with. */
export interface MailboxRouteDeps {
  pool: pg.Pool;
  mailboxes: Mailboxes;
  config: Pick<Config, "mailboxLeaseSeconds" | "mailboxRetentionSeconds">;
}

/** A path that is no id is looked for under one that nothing has, so that the key is still checked. */
export const nobodysId = "0".repeat(32);

/** Milliseconds after which a message expires. */
export function retentionMs(config: MailboxRouteDeps["config"]): number {
  return config.mailboxRetentionSeconds * 1000;
}

export function readDeps({ pool, config }: MailboxRouteDeps): ReadDeps {
  return { pool, retentionMs: retentionMs(config) };
}

/** The API key of a request whose route leaves checking it to the transition. @throws {ApiError} 401 without one. */
export function keyOf(request: FastifyRequest): string {
  const key = presentedKey(request);
  if (key === undefined) throw unauthorized();
  return key;
}
