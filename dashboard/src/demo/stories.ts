import type { Status } from "../api/shapes.ts";

/** One step of a simulation: what happened, and the status that the service then shows. */
export interface Scene {
  title: string;
  text: string;
  status: Status;
  /** Requests and responses between client, service and receiver. */
  lines: readonly string[];
}

export interface Story {
  id: string;
  name: string;
  scenes: readonly Scene[];
}

const webhook: readonly Scene[] = [
  {
    title: "A client posts an item",
    text: "202 is sent once the item is on disk. From then on the service is responsible for its delivery.",
    status: "QUEUED",
    lines: ['→ POST /t/orders  {"event_type": "order.created", "order": 1001}', '← 202 {"status": "QUEUED"}'],
  },
  {
    title: "The first attempt fails",
    text: "The receiver is being deployed and answers 503. The next attempt is due in about 30 seconds.",
    status: "RETRYING",
    lines: [
      "→ POST https://shop.example/webhooks",
      "  webhook-signature: v1,K5oZfzN95Z9…",
      "← 503 after 84 ms",
    ],
  },
  {
    title: "The second attempt arrives",
    text: "The same id and the same bytes, signed anew. The receiver verifies the signature and answers 200.",
    status: "DELIVERED",
    lines: ["→ POST https://shop.example/webhooks", "  webhook-id: the same as before", "← 200 after 41 ms"],
  },
];

const mailbox: readonly Scene[] = [
  {
    title: "A message waits",
    text: "No consumer has to be connected when it is posted.",
    status: "UNREAD",
    lines: ['→ POST /t/inbox  {"task": "call back"}', '← 202 {"status": "UNREAD"}'],
  },
  {
    title: "A worker claims it",
    text: "For five minutes it belongs to that worker. Others get other messages.",
    status: "CLAIMED",
    lines: [
      '→ POST /api/v1/mailboxes/inbox/claim  {"max": 10, "wait_seconds": 20}',
      '← 200 {"messages": [{"claim_token": …}]}',
    ],
  },
  {
    title: "The worker dies, the lease ends",
    text: "Without an acknowledgement the message can be claimed again, and its old token is invalid.",
    status: "UNREAD",
    lines: ["  5 minutes pass", "  claimable again"],
  },
  {
    title: "Another worker finishes it",
    text: "Acknowledged messages are gone from the queue, and stay on record.",
    status: "ACKNOWLEDGED",
    lines: ["→ POST …/claim", "→ POST /api/v1/mailbox-messages/…/ack", '← 200 {"status": "ACKNOWLEDGED"}'],
  },
];

const handoff: readonly Scene[] = [
  {
    title: "An item becomes a message to an agent",
    text: "The agent was found through its card, whose signature was verified.",
    status: "QUEUED",
    lines: ['→ POST /t/planner  {"text": "Book a table for four on Friday"}', '← 202 {"status": "QUEUED"}'],
  },
  {
    title: "The agent accepts it",
    text: "Handed over: from here on the service follows the agent's task.",
    status: "DELIVERED",
    lines: ["→ POST https://agent.example/message:send", "← task 7f3a, WORKING"],
  },
  {
    title: "The agent asks something",
    text: "The handoff waits for you, under “needs attention”.",
    status: "DELIVERED",
    lines: ["← INPUT_REQUIRED: “At seven or at eight?”", "→ “At eight.”"],
  },
  {
    title: "Done, with an artifact",
    text: "The agent's results are stored with the item.",
    status: "DELIVERED",
    lines: ["← COMPLETED", "  artifact: reservation.json"],
  },
];

/** The stories of the demo. They run in the browser, without requests to a service. */
export const stories: readonly Story[] = [
  { id: "webhook", name: "A webhook", scenes: webhook },
  { id: "mailbox", name: "A mailbox", scenes: mailbox },
  { id: "handoff", name: "A handoff", scenes: handoff },
];
