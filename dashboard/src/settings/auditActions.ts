import type { paths } from "../api/interface.generated.ts";

export type AuditAction = NonNullable<
  NonNullable<paths["/api/v1/audit-log"]["get"]["parameters"]["query"]>["action"]
>;

/** The actions that the audit log can be filtered by; a record, so that the compiler finds a missing one. */
const every: Record<AuditAction, true> = {
  "organization.created": true,
  "organization.renamed": true,
  "organization.revealing_changed": true,
  "session.started": true,
  "session.refused": true,
  "session.ended": true,
  "sessions.ended": true,
  "password.changed": true,
  "password.change_refused": true,
  "password.reset": true,
  "password.reset_requested": true,
  "key.created": true,
  "key.deleted": true,
  "member.joined": true,
  "member.role_changed": true,
  "member.removed": true,
  "invitation.created": true,
  "invitation.revoked": true,
  "customer.created": true,
  "customer.updated": true,
  "customer.deleted": true,
  "event_type.created": true,
  "event_type.updated": true,
  "event_type.deleted": true,
  "portal_link.created": true,
  "portal_session.started": true,
  "portal_session.ended": true,
  "portal_sessions.ended": true,
  "portal_settings.saved": true,
  "target.created": true,
  "target.updated": true,
  "target.deleted": true,
  "target.disabled": true,
  "target.secret_rotated": true,
  "target.previous_secret_deleted": true,
  "target.secret_revealed": true,
  "target.card_replaced": true,
  "notification_target.saved": true,
  "notification_target.removed": true,
  "billing.state_changed": true,
  "billing.batch_settled": true,
};

export const actions = Object.keys(every) as AuditAction[];
