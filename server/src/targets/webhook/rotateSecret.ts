import { sql } from "kysely";
import type { Origin } from "../../audit/origin.ts";
import { newSigningSecret, parseSigningSecret } from "../../items/signature.ts";
import { openSigningKey, sealSigningSecret } from "../../items/secretBox.ts";
import { inTransactionOf, type Queries } from "../../postgres/tables.ts";
import type { TargetDeps } from "../record/kind.ts";
import { invalid, type Refused } from "../record/refusal.ts";
import {
  changeTarget,
  changeTargetIn,
  type Stored,
  type StoredTarget,
  type TargetChange,
} from "../record/store.ts";
import type { Rotation } from "./schemas.ts";

/** A new signing secret: random, or given by the caller because receivers have it already. */
export function chooseSecret(
  { randomBytes }: Pick<TargetDeps, "randomBytes">,
  known: string | undefined,
): { ok: true; secret: string } | Refused {
  if (known === undefined) return { ok: true, secret: newSigningSecret(randomBytes) };
  try {
    parseSigningSecret(known);
  } catch (error) {
    return invalid(`secret is not valid: ${(error as Error).message}`);
  }
  return { ok: true, secret: known };
}

/**
 * Gives a webhook target a new signing secret: random, or given by the caller. The present secret becomes the previous one, and
 * still signs until it is deleted or its time ends. An older previous secret ends now, because receivers verify with at most two
 * secrets. If the caller gives the present secret, as in a repeated request, no secret changes: only the end of the previous one
 * does, if the request names an end.
 */
export async function rotateSecret(
  deps: TargetDeps,
  origin: Origin,
  id: string,
  { secret: known, previous_secret_ends_in_seconds: endsIn }: Rotation,
): Promise<{ ok: true; target: StoredTarget; secret: string } | Refused> {
  const chosen = chooseSecret(deps, known);
  if (!chosen.ok) return chosen;
  const { secret } = chosen;
  const previousUntil = endsIn === undefined ? null : Math.floor(deps.nowMs() / 1000) + endsIn;
  const stored = await changeTarget(deps, {
    origin,
    id,
    action: "target.secret_rotated",
    columns: {},
    async decide(transaction, present) {
      if (known !== undefined && (await isPresentSecret(deps, transaction, id, known))) {
        if (!present.has_previous_secret || previousUntil === null) return { ok: true, isUnchanged: true };
        return {
          ok: true,
          columns: { previous_secret_until: previousUntil },
          beside: {
            before: { previous_signing_secret_until: present.previous_secret_until },
            after: { previous_signing_secret_until: previousUntil },
          },
        };
      }
      return {
        ok: true,
        columns: {
          previous_secret: sql`secret` as never,
          previous_secret_until: previousUntil,
          secret: sealSigningSecret(deps.box, id, secret),
        },
        beside: {
          before: {},
          after: {
            has_previous_signing_secret: true,
            ...(previousUntil !== null && { previous_signing_secret_until: previousUntil }),
          },
        },
      };
    },
  });
  return stored.ok ? { ...stored, secret } : stored;
}

async function isPresentSecret(
  { box }: Pick<TargetDeps, "box">,
  transaction: Queries,
  id: string,
  secret: string,
): Promise<boolean> {
  const { secret: sealed } = await transaction
    .selectFrom("targets")
    .select("secret")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return sealed !== null && openSigningKey(box, id, sealed).equals(parseSigningSecret(secret));
}

/** Ends a rotation by deleting the previous secret. Changes nothing if there is no previous secret. */
export async function deletePreviousSecret(
  deps: TargetDeps,
  origin: Origin,
  target: StoredTarget,
): Promise<Stored> {
  if (!target.has_previous_secret) return { ok: true, target };
  return changeTarget(deps, endOfRotation(origin, target.id));
}

function endOfRotation(origin: Origin, id: string): TargetChange {
  return {
    origin,
    id,
    action: "target.previous_secret_deleted",
    columns: { previous_secret: null, previous_secret_until: null },
    beside: {
      before: { has_previous_signing_secret: true },
      after: { has_previous_signing_secret: false },
    },
  };
}

const maxEndedAtOnce = 100;

/** Deletes previous secrets whose time has ended, for maintenance. @returns how many. */
export async function endRotations(queries: Queries, nowMs: number): Promise<number> {
  const now = Math.floor(nowMs / 1000);
  return inTransactionOf(queries, async (transaction) => {
    const over = await transaction
      .selectFrom("targets")
      .select(["id", "org_id"])
      .where("previous_secret_until", "<=", now)
      .limit(maxEndedAtOnce)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    for (const { id, org_id: orgId } of over) {
      const actor = { kind: "service", name: "the scheduled end of a rotation" } as const;
      await changeTargetIn(transaction, endOfRotation({ orgId, actor }, id), now);
    }
    return over.length;
  });
}
