import type { Static } from "typebox";
import { type Endpoint, signingScheme, type Target } from "./schemas.ts";
import type { AgentView } from "./handoffTargets.ts";
import { headersAnswer } from "./headers.ts";
import type { StoredTarget } from "./store.ts";

/** What is known of a target beside its own record: for each answer what it is about. */
export interface Beside {
  /** When it was just made. */
  secret?: string | undefined;
  /** When it is one. */
  agent?: AgentView | undefined;
  /** When it was just enabled again. */
  heldItems?: number | undefined;
}

/** A target as `/api/v1/targets` answers it. */
export function targetAnswer(
  target: StoredTarget,
  { secret, agent, heldItems }: Beside = {},
): Static<typeof Target> {
  const delivery = {
    max_payload_bytes: target.max_payload_bytes,
    max_retries: target.max_retries,
    retry_interval_seconds: target.retry_interval_seconds,
    rate_limit_per_second: target.rate_limit_per_second,
    rate_limit_burst: target.rate_limit_burst,
    max_concurrency: target.max_concurrency,
  };
  return {
    id: target.id,
    kind: target.kind,
    ...(target.uid !== null && { uid: target.uid }),
    ...(target.customer_uid !== null && { customer_uid: target.customer_uid }),
    ...(target.metadata !== null && { metadata: target.metadata }),
    ...(target.filter !== null && { filter: JSON.parse(target.filter) as Record<string, unknown> }),
    name: target.name,
    description: target.description,
    enabled: target.enabled,
    ...(target.disabled_reason !== null && { disabled_reason: target.disabled_reason }),
    ...(target.failing_since !== null && { failing_since: target.failing_since }),
    ...(target.url !== null && { url: target.url }),
    ...(secret !== undefined && { secret }),
    ...(heldItems !== undefined && { held_items: heldItems }),
    ...(target.kind === "mailbox" && {
      max_payload_bytes: target.max_payload_bytes,
      max_claims: target.max_claims,
    }),
    ...(target.kind === "a2a" && { ...delivery, ...agent }),
    ...(target.kind === "webhook" && {
      signing_scheme: signingScheme,
      has_previous_signing_secret: target.has_previous_secret,
      ...(target.previous_secret_until !== null && {
        previous_signing_secret_until: target.previous_secret_until,
      }),
      event_types: target.event_types,
      ...delivery,
      headers: headersAnswer(target.headers),
    }),
    created_at: target.created_at,
    updated_at: target.updated_at,
  };
}

/** A webhook target as `/api/v1/endpoints` answers it: `event_types` is JSON text there. */
export function endpointAnswer(target: StoredTarget): Static<typeof Endpoint> {
  return {
    id: target.id,
    name: target.name,
    url: target.url!,
    description: target.description,
    event_types: JSON.stringify(target.event_types),
    max_payload_bytes: target.max_payload_bytes,
    max_retries: target.max_retries,
    retry_interval_seconds: target.retry_interval_seconds,
    enabled: target.enabled,
    created_at: target.created_at,
    updated_at: target.updated_at,
  };
}
