import { type Static, Type } from "typebox";
import { fieldsOf, Id, Timestamp } from "../../http/contract/schemas.ts";
import {
  allOptional,
  commonFields,
  deliveryFields,
  discardHeld,
  HeldItems,
  Name,
  Url,
} from "../record/fields.ts";
import type { StoredTarget } from "../record/store.ts";
import { endpointFields } from "./schemas.ts";

/** A webhook target as the legacy routes answer it. */
export const Endpoint = Type.Object(
  {
    id: Id,
    name: Type.String(),
    url: Type.String(),
    description: Type.String(),
    event_types: Type.String({ description: "The array of event types as JSON text; `[]` means all" }),
    max_payload_bytes: Type.Integer(),
    max_retries: Type.Integer(),
    retry_interval_seconds: Type.Integer(),
    enabled: Type.Boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Endpoint" },
);

/** The answer to a PATCH of an endpoint: the fields that the contract lists, and what enabling says. */
export const PatchedEndpoint = Type.Object({
  ...Type.Pick(Endpoint, ["id", "name", "url", "description", "event_types", "enabled", "updated_at"])
    .properties,
  held_items: HeldItems,
});

/** The bodies that create and change endpoints. */
export function endpointInputs(maxBodyBytes: number) {
  const { description, max_payload_bytes } = commonFields(maxBodyBytes);
  const { max_retries, retry_interval_seconds } = deliveryFields;
  const options = {
    description,
    event_types: endpointFields.event_types,
    max_payload_bytes,
    max_retries,
    retry_interval_seconds,
  };
  const changes = { name: Name, url: Url, enabled: Type.Boolean(), discard_held: discardHeld, ...options };
  return {
    newEndpoint: Type.Object({ name: Name, url: Url, ...allOptional(options) }, { title: "NewEndpoint" }),
    endpointChanges: Type.Object(allOptional(changes), { title: "EndpointChanges" }),
  };
}

/** A webhook target as `/api/v1/endpoints` answers it: `event_types` is JSON text there. */
export function endpointAnswer(target: StoredTarget): Static<typeof Endpoint> {
  return { ...fieldsOf(Endpoint, target), event_types: JSON.stringify(target.event_types) };
}
