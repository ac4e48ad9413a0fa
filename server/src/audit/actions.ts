/**
 * Everything that the audit log tells of, as `<object>.<what happened to it>`. Readers filter by these names, so they do not
 * change.
 */
export const actions = {
  "organization.created": "signed up, or made by an operator",
  "organization.renamed": "",
  "organization.revealing_changed": "whether admins may reveal signing secrets",
  "session.started": "a login",
  "session.refused": "a login to an account with a wrong password",
  "session.ended": "a logout",
  "sessions.ended": "all sessions of a user, or of all users of the organization",
  "password.changed": "by the user",
  "password.change_refused": "the present password was wrong",
  "password.reset": "by an operator, or by the user with a mailed link",
  "password.reset_requested": "somebody asked for a link by mail",
  "key.created": "",
  "key.deleted": "",
  "member.joined": "accepted an invitation",
  "member.role_changed": "",
  "member.removed": "",
  "invitation.created": "",
  "invitation.revoked": "",
  "customer.created": "",
  "customer.updated": "",
  "customer.deleted": "with its targets",
  "event_type.created": "",
  "event_type.updated": "",
  "event_type.deleted": "",
  "portal_link.created": "for a customer",
  "portal_session.started": "somebody opened a customer's link",
  "portal_session.ended": "by whoever had it",
  "portal_sessions.ended": "all of a customer, and the links that nobody had opened",
  "portal_settings.saved": "how the portal looks, and whose pages may show it",
  "target.created": "",
  "target.updated": "",
  "target.deleted": "",
  "target.disabled": "by the service, with the reason",
  "target.secret_rotated": "",
  "target.previous_secret_deleted": "",
  "target.secret_revealed": "an admin read the signing secret",
  "target.card_replaced": "an agent's card was read again and is in use",
  "notification_target.saved": "a target hears of operational events",
  "notification_target.removed": "",
  "billing.state_changed": "",
  "billing.batch_settled": "by an operator",
} as const;

export type Action = keyof typeof actions;

/** The kinds of what an action is about, each an id of that kind where there is one. */
export type ObjectKind =
  | "organization"
  | "user"
  | "key"
  | "invitation"
  | "customer"
  | "event_type"
  | "target"
  | "batch";
