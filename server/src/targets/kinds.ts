import type { TProperties } from "typebox";
import { isPulled, kindNumbers, type TargetKind, targetKinds } from "../postgres/kinds.ts";
import { a2a, type AgentDeps } from "./a2a/a2a.ts";
import { mailbox } from "./mailbox/mailbox.ts";
import type { Kind, SendDeps, Senders } from "./record/kind.ts";
import { webhook } from "./webhook/webhook.ts";

const kinds = { webhook, mailbox, a2a };

/** The parts of the process that the kinds together need. */
export type KindDeps = AgentDeps;

type Kinds = typeof kinds;
type Part = "created" | "changed" | "answered";
export type Fields<P extends Part> = AllOf<Kinds[TargetKind]["fields"][P]>;
type AllOf<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer A) => void ? A : never;

/** A kind as the features that serve all kinds see it: it takes the fields of each. */
export type AnyKind = Omit<Kind<KindDeps, Fields<"created">, Fields<"changed">, TProperties>, "fields"> & {
  fields: Record<Part, TProperties>;
};

export function kindNamed(name: TargetKind): AnyKind {
  return kinds[name];
}

/** The same for a name from outside; undefined when no kind has it. */
export function findKind(name: string): AnyKind | undefined {
  return Object.hasOwn(kinds, name) ? kindNamed(name as TargetKind) : undefined;
}

/** The fields of all kinds together: of one that several have, the last kind's. */
export function fieldsOf<P extends Part>(part: P): Fields<P> {
  return Object.assign({}, ...targetKinds.map((name) => kinds[name].fields[part])) as Fields<P>;
}

/** The senders of all kinds that have one, by the kinds' numbers. */
export function createSenders(deps: SendDeps): Senders {
  const senders = targetKinds.map((name) => [kindNumbers[name], kinds[name].sender?.(deps)]);
  return Object.fromEntries(senders) as Senders;
}

/** The names of the kinds that `has` accepts, in words. */
export function kindNames(has: (kind: AnyKind) => boolean = () => true, word = "or"): string {
  const names = targetKinds.filter((name) => has(kindNamed(name)));
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;
}

/** Whether items wait for a disabled target, to be sent once it is enabled: the kinds that items are sent to. */
export function holdsItems(name: TargetKind): boolean {
  return !isPulled(kindNumbers[name]);
}
