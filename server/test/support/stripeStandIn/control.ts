import { cancelSubscription, collect, completeSession, runBilling } from "./billingCycle.ts";
import type { Fault } from "./faults.ts";
import { showCustomer, showWorld } from "./shapes.ts";
import { deliver, emit } from "./webhooks.ts";
import { mustFind, nowOf, Refusal, type World } from "./world.ts";

/** A request of a test to the stand-in itself, by `/_control`. */
export type Control =
  | { action: "clock"; now: number }
  | { action: "faults"; faults: Fault[] }
  | { action: "lag"; seconds: number }
  | { action: "webhooks"; url: string; secrets: readonly string[]; mode: "send" | "hold" }
  /** Sends the notices in this order of positions in the outbox; all undelivered ones without it. */
  | { action: "deliver"; order?: number[] }
  /** A notice of another type, as the processor adds now and then. */
  | { action: "emit"; type: string; object: object }
  | { action: "pay page"; session: string }
  | { action: "card"; customer: string; fails: boolean }
  | { action: "collect"; invoice: string }
  | { action: "mark unpaid"; subscription: string }
  | { action: "cancel"; subscription: string }
  | { action: "delete customer"; customer: string }
  | { action: "state" };

/** Does what a test asks, and gives what it asks for. */
export async function control(world: World, request: Control): Promise<object> {
  switch (request.action) {
    case "clock":
      // A request belongs to the moment it was made at, however late it is worked on.
      while (world.underWay > 0) await new Promise((resolve) => setTimeout(resolve, 1));
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
