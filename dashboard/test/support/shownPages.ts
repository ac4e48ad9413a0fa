/** An id that no object has. */
export const id = "0123456789abcdef0123456789abcdef";

/** Every page that reads data, and every tab that reads data of its own. */
export const pages = [
  "/?skip=1",
  "/start",
  "/items",
  `/items?open=${id}`,
  `/items/${id}`,
  "/targets",
  `/targets/${id}`,
  "/customers",
  `/customers/${id}`,
  "/event-types",
  "/event-types?type=none",
  "/publications",
  `/publications/${id}`,
  "/mailboxes",
  `/mailboxes/${id}`,
  "/handoffs",
  `/handoffs?open=${id}`,
  "/handoffs?state=WORKING",
  "/replays",
  `/replays/${id}`,
  "/usage",
  "/settings",
  "/settings?tab=members",
  "/settings?tab=notifications",
  "/settings?tab=erasures",
  "/settings?tab=audit",
];

/** Path, a text on the page, and the text of the link or button that helps the user. */
export type Shown = readonly [path: string, text: string | RegExp, wayOn: string];

/** Pages of an account without data. */
export const empty: readonly Shown[] = [
  ["/?skip=1", "No activity in this range", "Send an item"],
  ["/start", "Destination", "Create target"],
  ["/items", "No items yet", "Send an item"],
  ["/targets", "No targets yet", "Get started"],
  ["/customers", "No customers yet", "New customer"],
  ["/event-types", "No event types yet", "New event type"],
  ["/publications", "No publications yet", "See customers"],
  ["/mailboxes", "No mailboxes yet", "Create mailbox"],
  ["/handoffs", "No handoffs yet", "Add an agent"],
  ["/replays", "No replays yet", "Find failed items"],
  ["/usage", "Nothing was accepted in the last 30 days.", "Usage"],
  ["/settings", "Signed in as", "New key"],
  ["/settings?tab=members", "No invitations yet.", "Invite"],
  ["/settings?tab=notifications", "No target gets operational events yet.", "Add"],
  ["/settings?tab=erasures", "Nothing was erased yet.", "Erase all items…"],
  ["/settings?tab=audit", "organization.created", "General"],
];

/** Filters that match nothing. */
export const noMatch: readonly Shown[] = [
  ["/customers?prefix=none", "No customer matches", "Show all customers"],
  ["/event-types?prefix=none", "No event type matches", "Show all event types"],
  ["/publications?customer=none", "No publication matches", "Show all publications"],
  ["/items?type=none", "No item matches", "Clear the filters"],
  ["/handoffs?state=WORKING", "No handoff is in this state", "Show all handoffs"],
  ["/settings?tab=audit&action=key.deleted", "No entry matches", "Show all entries"],
];

/** Invalid values in a path or in a query. */
export const nonsense: readonly Shown[] = [
  ["/customers?prefix=no+uid", "No customer matches", "Show all customers"],
  ["/event-types?prefix=%C3%A9", "No event type matches", "Show all event types"],
  ["/event-types?deprecated=maybe", "No event types yet", "New event type"],
  ["/publications?customer=no+uid", "No publication matches", "Show all publications"],
  ["/items?time=soon", /Time must be 1h/, "Clear the filters"],
  ["/items?status=LOST", /status/i, "Clear the filters"],
  ["/items?target=none", /There is nothing with this id|target_id|No item matches/i, "Clear the filters"],
  ["/items?replay=none", /replay_id/i, "Clear the filters"],
  ["/handoffs?state=LOST", /handoff_state|No handoff is in this state/i, "Show all handoffs"],
  ["/?skip=1&range=ages", "No activity in this range", "24h"],
  ["/settings?tab=none", "Signed in as", "New key"],
  ["/settings?tab=audit&action=none", "organization.created", "General"],
  ["/start?target=none&item=none", "Destination", "Create target"],
  ["/targets/new?kind=none", "Destination", "Create target"],
  ["/demo?story=none", "A client posts an item", "Sign up"],
  ["/no/such/page", "There is no page at this address", "Go to the overview"],
];
