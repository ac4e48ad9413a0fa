/** The sections of the documentation, in the order of the interface. */
export const tags = [
  { name: "Account", description: "Signup, login and sessions" },
  { name: "API keys", description: "Up to five per workspace" },
  { name: "Targets", description: "Where items go: webhooks, mailboxes and agents" },
  { name: "Ingestion", description: "Handing items over" },
  { name: "Endpoints", description: "Webhook targets as older clients know them" },
  { name: "Mailboxes", description: "Reading, claiming and acknowledging messages" },
  { name: "Events", description: "What became of accepted items" },
  { name: "Erasure", description: "Removing what items held" },
  { name: "Notifications", description: "Hearing of what happens to targets and items" },
  { name: "Statistics", description: "What happened over time" },
  { name: "Organization", description: "The workspace that everything belongs to" },
  { name: "Members", description: "Who belongs to the organization, and who changed what" },
  { name: "Billing", description: "Usage and payment" },
  { name: "Operation", description: "For those who run the service" },
] as const;

type Tag = (typeof tags)[number]["name"];

/** Section and operationId of every route; clients name their methods by the latter, so it does not change. */
export const operationNames: Record<string, readonly [tag: Tag, operationId: string]> = {
  "POST /api/v1/auth/signup": ["Account", "signUp"],
  "POST /api/v1/auth/login": ["Account", "logIn"],
  "POST /api/v1/auth/logout": ["Account", "logOut"],
  "POST /api/v1/auth/logout-all": ["Account", "logOutAll"],
  "POST /api/v1/auth/password": ["Account", "changePassword"],
  "GET /api/v1/auth/me": ["Account", "readMe"],

  "POST /api/v1/keys": ["API keys", "createKey"],
  "GET /api/v1/keys": ["API keys", "listKeys"],
  "DELETE /api/v1/keys/:id": ["API keys", "deleteKey"],

  "GET /api/v1/targets": ["Targets", "listTargets"],
  "POST /api/v1/targets": ["Targets", "createTarget"],
  "GET /api/v1/targets/:id": ["Targets", "readTarget"],
  "PATCH /api/v1/targets/:id": ["Targets", "updateTarget"],
  "DELETE /api/v1/targets/:id": ["Targets", "deleteTarget"],
  "POST /api/v1/targets/:id/refresh": ["Targets", "refreshTarget"],
  "POST /api/v1/targets/:id/signing-secret/rotate": ["Targets", "rotateSigningSecret"],
  "DELETE /api/v1/targets/:id/signing-secret/previous": ["Targets", "deletePreviousSigningSecret"],
  "POST /api/v1/targets/:id/test": ["Targets", "testTarget"],
  "GET /api/v1/targets/:id/tryout": ["Targets", "listTryoutRequests"],

  "GET /api/v1/targets/:id/health": ["Targets", "readTargetHealth"],

  "POST /t/:target_id": ["Ingestion", "sendItem"],
  "POST /e/:endpoint_id": ["Ingestion", "sendEvent"],

  "GET /api/v1/endpoints": ["Endpoints", "listEndpoints"],
  "POST /api/v1/endpoints": ["Endpoints", "createEndpoint"],
  "GET /api/v1/endpoints/:id": ["Endpoints", "readEndpoint"],
  "PATCH /api/v1/endpoints/:id": ["Endpoints", "updateEndpoint"],
  "DELETE /api/v1/endpoints/:id": ["Endpoints", "deleteEndpoint"],

  "GET /api/v1/mailboxes/:mailbox_id/messages": ["Mailboxes", "listMessages"],
  "GET /api/v1/mailbox-messages/:message_id": ["Mailboxes", "readMessage"],
  "POST /api/v1/mailbox-messages/:message_id/claim": ["Mailboxes", "claimMessage"],
  "POST /api/v1/mailbox-messages/:message_id/ack": ["Mailboxes", "acknowledgeMessage"],
  "POST /api/v1/mailboxes/:mailbox_id/claim": ["Mailboxes", "claimMessages"],
  "POST /api/v1/mailboxes/:mailbox_id/ack": ["Mailboxes", "acknowledgeMessages"],
  "POST /api/v1/mailboxes/:mailbox_id/extend": ["Mailboxes", "extendClaims"],
  "POST /api/v1/mailboxes/:mailbox_id/release": ["Mailboxes", "releaseMessages"],
  "POST /api/v1/mailboxes/:mailbox_id/reject": ["Mailboxes", "rejectMessages"],
  "POST /api/v1/mailboxes/:mailbox_id/redrive": ["Mailboxes", "redriveMessages"],
  "GET /api/v1/mailboxes/:mailbox_id/stats": ["Mailboxes", "readMailboxStats"],
  "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-release": ["Mailboxes", "forceRelease"],
  "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-reject": ["Mailboxes", "forceReject"],

  "GET /api/v1/events": ["Events", "listEvents"],
  "GET /api/v1/events/:id": ["Events", "readEvent"],
  "GET /api/v1/events/:id/payload": ["Events", "readPayload"],
  "POST /api/v1/events/:id/replay": ["Events", "replayEvent"],
  "POST /api/v1/events/:id/cancel": ["Events", "cancelEvent"],
  "POST /api/v1/replays": ["Events", "startReplay"],
  "GET /api/v1/replays": ["Events", "listReplays"],
  "GET /api/v1/replays/:id": ["Events", "readReplay"],
  "POST /api/v1/replays/:id/cancel": ["Events", "cancelReplay"],
  "POST /api/v1/events/:id/handoff/message": ["Events", "answerAgent"],
  "POST /api/v1/events/:id/handoff/cancel": ["Events", "cancelTask"],

  "POST /api/v1/events/:id/erase": ["Erasure", "eraseEvent"],
  "POST /api/v1/erasures": ["Erasure", "createErasure"],
  "GET /api/v1/erasures": ["Erasure", "listErasures"],
  "GET /api/v1/erasures/:id": ["Erasure", "readErasure"],

  "GET /api/v1/notification-targets": ["Notifications", "listNotificationTargets"],
  "POST /api/v1/notification-targets": ["Notifications", "saveNotificationTarget"],
  "DELETE /api/v1/notification-targets/:id": ["Notifications", "removeNotificationTarget"],

  "GET /api/v1/stats": ["Statistics", "readStats"],

  "GET /api/v1/orgs": ["Organization", "readOrganization"],
  "PATCH /api/v1/orgs": ["Organization", "renameOrganization"],

  "GET /api/v1/members": ["Members", "listMembers"],
  "PATCH /api/v1/members/:id": ["Members", "changeRole"],
  "DELETE /api/v1/members/:id": ["Members", "removeMember"],
  "GET /api/v1/invitations": ["Members", "listInvitations"],
  "POST /api/v1/invitations": ["Members", "createInvitation"],
  "DELETE /api/v1/invitations/:id": ["Members", "revokeInvitation"],
  "POST /api/v1/invitations/accept": ["Members", "acceptInvitation"],
  "GET /api/v1/audit-log": ["Members", "listAuditLog"],

  "GET /api/v1/billing": ["Billing", "readBilling"],
  "POST /api/v1/billing/checkout": ["Billing", "openCheckout"],
  "GET /api/v1/billing/portal": ["Billing", "openPortal"],
  "GET /api/v1/billing/invoices": ["Billing", "listInvoices"],
  "GET /api/v1/billing/reconciliation": ["Billing", "reconcile"],
  "GET /api/v1/usage": ["Billing", "readUsage"],
  "POST /api/v1/billing/webhook": ["Billing", "receiveBillingEvent"],

  "GET /api/v1/stream": ["Events", "openStream"],
  "POST /mcp": ["Operation", "callTools"],
  "POST /a2a/notifications/:token": ["Operation", "receiveAgentNotification"],
  "GET /healthz": ["Operation", "isAlive"],
  "GET /readyz": ["Operation", "isReady"],
  "GET /metrics": ["Operation", "readMetrics"],
};
