import type { Fault } from "./faults.ts";
import { type FormValues, textOf } from "./formBody.ts";
import type { OutgoingWebhook } from "./webhooks.ts";

/** An error answer of the interface. */
export class Refusal extends Error {
  readonly status: number;
  readonly fields: Record<string, string>;

  constructor(status: number, message: string, fields: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

export interface Customer {
  id: string;
  created: number;
  name: string | null;
  email: string | null;
  metadata: FormValues;
  deleted: boolean;
  hasPaymentMethod: boolean;
  /** Whether the next collections fail. */
  cardFails: boolean;
}

export interface Session {
  id: string;
  created: number;
  expiresAt: number;
  customer: string;
  priceId: string;
  status: "open" | "complete" | "expired";
  params: FormValues;
}

export interface Subscription {
  id: string;
  created: number;
  customer: string;
  priceId: string;
  status: "active" | "past_due" | "unpaid" | "canceled";
  /** Null before the end of the first month. */
  latestInvoice: string | null;
  periodStart: number;
  periodEnd: number;
}

export interface MeterEvent {
  identifier: string;
  eventName: string;
  customer: string;
  value: number;
  timestamp: number;
  storedAt: number;
}

export interface Invoice {
  id: string;
  number: string | null;
  created: number;
  customer: string;
  subscription: string;
  billingReason: "subscription_create" | "subscription_cycle";
  status: "draft" | "open" | "paid" | "void";
  autoAdvance: boolean;
  attempted: boolean;
  periodStart: number;
  periodEnd: number;
  subtotal: number;
  amountPaid: number;
}

/**
 * All data of one account at the processor. Each secret key has its own world, so that many tests share one
 * process.
 */
export interface World {
  /** Unix seconds; undefined to use the machine's clock. */
  fixedNow: number | undefined;
  customers: Map<string, Customer>;
  sessions: Map<string, Session>;
  subscriptions: Map<string, Subscription>;
  invoices: Map<string, Invoice>;
  meterEvents: MeterEvent[];
  /** Answers by idempotency key, failures included. */
  answers: Map<string, { fingerprint: string; status: number; body: string; at: number }>;
  faults: Fault[];
  webhooks: {
    url: string | undefined;
    secrets: readonly string[];
    /** Whether notices are sent at once, or kept until a test requests them. */
    mode: "send" | "hold";
    outbox: OutgoingWebhook[];
  };
  /** Time after which a stored meter event appears in summaries, seconds. */
  summaryLagSeconds: number;
  /** Customers with a meter event in progress, and the number of simultaneous ones. */
  metering: Set<string>;
  overlaps: number;
  /** Requests in progress; setting the clock waits for them. */
  inFlight: number;
  /** Requests answered, by method and path shape. */
  requests: Record<string, number>;
}

export function createWorld(): World {
  return {
    fixedNow: undefined,
    customers: new Map(),
    sessions: new Map(),
    subscriptions: new Map(),
    invoices: new Map(),
    meterEvents: [],
    answers: new Map(),
    faults: [],
    webhooks: { url: undefined, secrets: [], mode: "hold", outbox: [] },
    summaryLagSeconds: 0,
    metering: new Set(),
    overlaps: 0,
    inFlight: 0,
    requests: {},
  };
}

/** The world's current time in Unix seconds. */
export function nowOf(world: World): number {
  return world.fixedNow ?? Math.floor(Date.now() / 1000);
}

let lastId = 0;

/** An id in the processor's form, unique in all worlds. */
export function newId(prefix: string): string {
  return `${prefix}_${String(++lastId).padStart(8, "0")}`;
}

/** Returns a record by its id. @throws {Refusal} 404 in the processor's form. */
export function mustFind<T>(records: Map<string, T>, id: string | undefined, kind: string): T {
  const record = id === undefined ? undefined : records.get(id);
  if (record === undefined) {
    throw new Refusal(kind === "customer" ? 400 : 404, `No such ${kind}: '${id}'`, {
      type: "invalid_request_error",
      code: "resource_missing",
      param: kind,
    });
  }
  return record;
}

/** The customer of a request, unless it was deleted. */
export function livingCustomer(world: World, params: FormValues): Customer {
  const id = textOf(params, "customer") ?? "";
  if (id === "") {
    throw new Refusal(400, "Missing required param: customer.", {
      type: "invalid_request_error",
      code: "parameter_missing",
      param: "customer",
    });
  }
  const customer = mustFind(world.customers, id, "customer");
  if (!customer.deleted) return customer;
  throw new Refusal(400, `No such customer: '${id}'`, {
    type: "invalid_request_error",
    code: "resource_missing",
    param: "customer",
  });
}
