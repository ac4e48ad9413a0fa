import { sealSigningSecret } from "../../items/secretBox.ts";
import type { Creation, Kind, KindChange, TargetDeps } from "../record/kind.ts";
import { deliveryValues, type Given } from "../record/fields.ts";
import { invalid, type Refused } from "../record/refusal.ts";
import type { StoredTarget, TargetKey } from "../record/store.ts";
import { checkCatalogue, eventTypesFault } from "./eventTypes.ts";
import { decideHeaders, endHeaderSet, noteHeaderSet, refuseOtherOrigin } from "./headerSets.ts";
import { headersAnswer, sealHeaders } from "../record/headers.ts";
import { chooseSecret } from "./rotateSecret.ts";
import { signingScheme, webhookFields } from "./schemas.ts";
import { webhookSender } from "./send/sendWebhook.ts";
import { checkTargetUrl } from "../../outbound/targetUrl.ts";
import { isTryoutUrl, refuseTryoutUrl } from "../../tryout/store.ts";

type Fields = typeof webhookFields;

/** The kind `webhook`: a receiver of signed POST requests. */
export const webhook: Kind<TargetDeps, Fields["created"], Fields["changed"], Fields["answered"]> = {
  name: "webhook",
  fields: webhookFields,
  create,
  change,
  checkCatalogue,
  remove: endHeaderSet,
  answer: (target) => ({
    signing_scheme: signingScheme,
    has_previous_signing_secret: target.has_previous_secret,
    ...(target.previous_secret_until !== null && {
      previous_signing_secret_until: target.previous_secret_until,
    }),
    event_types: target.event_types,
    ...deliveryValues(target),
    headers: headersAnswer(target.headers),
  }),
  sender: webhookSender,
  isSigned: true,
  isInPortal: true,
};

async function create(
  deps: TargetDeps,
  input: Given<Fields["created"]>,
  { id }: TargetKey,
): Promise<Creation | Refused> {
  const { url, event_types: eventTypes = [] } = input;
  if (url === undefined) return invalid("url is required for a webhook target");
  const fault = eventTypesFault(eventTypes) ?? (await urlFault(deps, url));
  if (fault !== undefined) return invalid(fault);
  const chosen = chooseSecret(deps, input.secret);
  if (!chosen.ok) return chosen;
  const headers = sealHeaders({ box: deps.box, targetId: id, present: null }, input.headers ?? {});
  if (!headers.ok) return headers;
  return {
    ok: true,
    columns: {
      url,
      event_types: eventTypes,
      headers: headers.stored,
      header_set: headers.stored === null ? null : 1,
      secret: sealSigningSecret(deps.box, id, chosen.secret),
    },
    save: noteHeaderSet,
    secret: chosen.secret,
  };
}

async function change(
  deps: TargetDeps,
  { url, event_types: eventTypes, headers }: Given<Fields["changed"]>,
  present: StoredTarget,
): Promise<KindChange | Refused> {
  const fault = eventTypesFault(eventTypes) ?? (url === undefined ? undefined : await urlFault(deps, url));
  if (fault !== undefined) return invalid(fault);
  const refused = refuseOtherOrigin(present, { url, headers });
  if (refused !== undefined) return refused;
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  return {
    ok: true,
    columns: {
      ...(eventTypes !== undefined && { event_types: eventTypes }),
      ...(url !== undefined && { url }),
    },
    async decide(_transaction, locked) {
      const decision = decideHeaders({ box: deps.box, nowSeconds }, locked, { url, headers });
      if (!decision.ok || url === undefined || url === locked.url) return decision;
      // With another URL, the five days of failing after which a target is disabled start again.
      return { ...decision, columns: { ...decision.columns, failing_since: null } };
    },
  };
}

async function urlFault(
  deps: Pick<TargetDeps, "config" | "networks">,
  url: string,
): Promise<string | undefined> {
  if (isTryoutUrl(url)) {
    const reason = refuseTryoutUrl(url);
    return reason === undefined ? undefined : `url ${reason}`;
  }
  const check = await checkTargetUrl(url, deps);
  return check.ok ? undefined : `url ${check.reason}`;
}
