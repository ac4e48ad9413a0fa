import type { Target } from "../../api/shapes.ts";
import type { Kind } from "./kind.ts";
import { parseUrl } from "../parseUrl.ts";
import { kindsByName } from "./kinds.generated.ts";

/** Every kind, in the order in which pages offer them. */
export const kinds: readonly Kind[] = Object.values(kindsByName);

export function kindNamed(name: Target["kind"]): Kind {
  return kindsByName[name];
}

export function kindOf({ kind }: Pick<Target, "kind">): Kind {
  return kindsByName[kind];
}

/** The host that deliveries go to; an empty text for a target without a URL. */
export function hostOf({ url }: Pick<Target, "url">): string {
  return url === undefined ? "" : (parseUrl(url)?.host ?? url);
}

/** The route of a target's own page. */
export function pathOf(target: Pick<Target, "kind">): "/mailboxes/$id" | "/targets/$id" {
  return kindOf(target).pages.one;
}

export function pageOf({ id, ...target }: Pick<Target, "kind" | "id">): string {
  return pathOf(target).replace("$id", id);
}
