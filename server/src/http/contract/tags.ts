/** The sections of the documentation, in the order of the interface. */
export const tags = [
  { name: "Account", description: "Signup, login and sessions" },
  { name: "API keys", description: "Up to five per workspace" },
  { name: "Customers", description: "Whom an organization sends to, by its own ids" },
  { name: "Event types", description: "The catalogue of what an organization sends" },
  { name: "Portal", description: "Where customers see and change their own webhooks" },
  { name: "Targets", description: "Where items go: webhooks, mailboxes and agents" },
  { name: "Ingestion", description: "Handing items over" },
  { name: "Publications", description: "What was sent with one call to many targets" },
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

export type Tag = (typeof tags)[number]["name"];
