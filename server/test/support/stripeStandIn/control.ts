import { cancelSubscription, collect, completeSession, runBilling } from "./billingCycle.ts";
import type { Fault } from "./faults.ts";
import { showCustomer, showWorld } from "./shapes.ts";
import { deliver, emit } from "./webhooks.ts";
import { mustFind, nowOf, Refusal, type World } from "./world.ts";

/** A request of a test to the stand-in itself, to `/_control`. */
export type Control =
  | { action: "clock"; now: number }
  | { action: "faults"; faults: Fault[] }
  | { action: "lag"; seconds: number }
  | { action: "webhooks"; url: string; secrets: readonly string[]; mode: "send" | "hold" }
  /** Sends the notices at these positions of the outbox in this order; without it all undelivered ones. */
  | { action: "deliver"; order?: number[] }
  /** A notice of an unknown type, as the processor adds from time to time. */
  | { action: "emit"; type: string; object: object }
  | { action: "pay page"; session: string }
  | { action: "card"; customer: string; fails: boolean }
  | { action: "collect"; invoice: string }
  | { action: "mark unpaid"; subscription: string }
  | { action: "cancel"; subscription: string }
  | { action: "delete customer"; customer: string }
  | { action: "state" };

/** Carries out a test's request, and returns the requested data. */
export async function control(world: World, request: Control): Promise<object> {
  switch (request.action) {
    case "clock":
      // Waits for requests in flight: each request belongs to the time at which it was sent.
      while (world.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 1));
      world.fixedNow = request.now;
      runBilling(world);
      return {};
    case "faults":
      world.faults = request.faults;
      return {};
    case "lag":
      world.summaryLagSeconds = request.seconds;
      return {};
    case "webhooks":
      Object.assign(world.webhooks, { url: request.url, secrets: request.secrets, mode: request.mode });
      return {};
    case "deliver":
      return { statuses: await deliverAll(world, request.order) };
    case "emit":
      emit(world, request.type, request.object);
      return {};
    case "pay page": {
      const session = mustFind(world.sessions, request.session, "checkout.session");
      if (session.status !== "open") throw new Refusal(400, "the page is closed");
      return completeSession(world, session);
    }
    case "card":
      mustFind(world.customers, request.customer, "customer").cardFails = request.fails;
      return {};
    case "collect":
      collect(world, mustFind(world.invoices, request.invoice, "invoice"));
      return {};
    case "mark unpaid":
      mustFind(world.subscriptions, request.subscription, "subscription").status = "unpaid";
      return {};
    case "cancel":
      cancelSubscription(world, mustFind(world.subscriptions, request.subscription, "subscription"));
      return {};
    case "delete customer": {
      const customer = mustFind(world.customers, request.customer, "customer");
      emit(world, "customer.deleted", showCustomer(customer));
      customer.deleted = true;
      return {};
    }
    case "state":
      runBilling(world);
      return { now: nowOf(world), ...showWorld(world) };
  }
}

async function deliverAll(world: World, order: number[] | undefined): Promise<number[]> {
  const { outbox } = world.webhooks;
  const chosen = order?.map((position) => outbox[position]!) ?? outbox.filter(({ delivered }) => !delivered);
  const statuses: number[] = [];
  for (const webhook of chosen) statuses.push(await deliver(world, webhook));
  runBilling(world);
  return statuses;
}
