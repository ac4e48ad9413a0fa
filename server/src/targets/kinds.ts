import type { TProperties } from "typebox";
import { isPulled, kindNumbers, type TargetKind, targetKinds } from "../postgres/kinds.ts";
import { a2a, type AgentDeps } from "./a2a/a2a.ts";
import { mailbox } from "./mailbox/mailbox.ts";
import type { Kind, SendDeps, Senders } from "./record/kind.ts";
import { webhook } from "./webhook/webhook.ts";

const kinds = { webhook, mailbox, a2a };

/** The parts of the process that any of the kinds needs. */
export type KindDeps = AgentDeps;

type Kinds = typeof kinds;
type Part = "created" | "changed" | "answered";
export type Fields<P extends Part> = AllOf<Kinds[TargetKind]["fields"][P]>;
type AllOf<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer A) => void ? A : never;

/** The common type of all kinds, for features that serve every kind. Takes the fields of all kinds. */
export type AnyKind = Omit<Kind<KindDeps, Fields<"created">, Fields<"changed">, TProperties>, "fields"> & {
  fields: Record<Part, TProperties>;
};

export function kindNamed(name: TargetKind): AnyKind {
  return kinds[name];
}

/** The fields of all kinds together. If several kinds have a field, the last kind's schema counts. */
export function fieldsOf<P extends Part>(part: P): Fields<P> {
  return Object.assign({}, ...targetKinds.map((name) => kinds[name].fields[part])) as Fields<P>;
}

/** The senders of all kinds that have a sender, by kind number. */
export function createSenders(deps: SendDeps): Senders {
  const senders = targetKinds.map((name) => [kindNumbers[name], kinds[name].sender?.(deps)]);
  return Object.fromEntries(senders) as Senders;
}

/** The names of the kinds for which `has` is true, as a list in words. */
export function kindNames(has: (kind: AnyKind) => boolean = () => true, word = "or"): string {
  const names = targetKinds.filter((name) => has(kindNamed(name)));
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(", ")} ${word} ${names.at(-1)}`;
}

/** Whether items are held for a disabled target of this kind until it is enabled. */
export function holdsItems(name: TargetKind): boolean {
  return !isPulled(kindNumbers[name]);
}
