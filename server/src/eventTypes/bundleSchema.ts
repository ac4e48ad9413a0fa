import {
  DocumentProblem,
  lastSegment,
  type ReadingBudget,
  resolveLocal,
  shownReference,
} from "./openApiDocument.ts";
import type { JsonSchema } from "./schemas.ts";
import { type Keywords, mapSchemas } from "./subschemas.ts";
import { isJsonObject } from "../http/contract/json.ts";

/**
 * A schema of an OpenAPI document with everything that it refers to, directly or indirectly, in its own `$defs`. Each definition
 * is there once, and circular references stay references: replacing references by copies could take any amount of memory.
 * @throws {DocumentProblem} for a reference to nothing or out of the document, and when the schema becomes too large.
 */
export function bundleSchema(document: Keywords, schema: Keywords, budget: ReadingBudget): JsonSchema {
  const [root, own] = rootOf(document, schema);
  const names = new Names(root);
  const take = budget.forOne("schema");
  const rewrite = (keywords: Keywords): Keywords =>
    rewritten(keywords, (reference) => (reference === own ? "#" : `#/$defs/${names.of(reference)}`));
  take(root);
  const bundled = mapSchemas(root, rewrite) as JsonSchema;
  const definitions = new Map<string, unknown>();
  // A definition may name further references, which the iteration then reaches, too.
  for (const [reference, name] of names.byReference) {
    const found = resolveLocal(document, reference);
    if (found === undefined) throw new DocumentProblem(`$ref ${shownReference(reference)} points to nothing`);
    take(found.value);
    definitions.set(name, mapSchemas(found.value, rewrite));
  }
  if (definitions.size === 0) return bundled;
  const present = isJsonObject(bundled["$defs"]) ? Object.entries(bundled["$defs"]) : [];
  return { ...bundled, $defs: Object.fromEntries([...present, ...definitions]) };
}

/** The schema to bundle. If it is only a reference, the root is the reference's target, and `own` is that reference. */
function rootOf(document: Keywords, schema: Keywords): [root: Keywords, own: string | undefined] {
  const reference = schema["$ref"];
  if (typeof reference !== "string" || Object.keys(schema).length > 1) return [schema, undefined];
  const found = resolveLocal(document, reference);
  return isJsonObject(found?.value) && !isJsonObject(found.value["$defs"])
    ? [found.value, reference]
    : [schema, undefined];
}

/** Names in `$defs` for references of the document. */
class Names {
  readonly byReference = new Map<string, string>();
  readonly #taken: Set<string>;
  /** By wanted name: the last number that was appended to make it unique. */
  readonly #numbers = new Map<string, number>();

  constructor(root: Keywords) {
    this.#taken = new Set(isJsonObject(root["$defs"]) ? Object.keys(root["$defs"]) : []);
  }

  of(reference: string): string {
    const known = this.byReference.get(reference);
    if (known !== undefined) return known;
    if (!reference.startsWith("#/")) {
      throw new DocumentProblem(
        `$ref ${shownReference(reference)} points outside the document: only references that begin with #/ are resolved`,
      );
    }
    const name = this.#free(lastSegment(reference).replaceAll(/[^\w.-]/g, "_") || "schema");
    this.byReference.set(reference, name);
    return name;
  }

  #free(wanted: string): string {
    let name = wanted;
    let number = this.#numbers.get(wanted) ?? 1;
    while (this.#taken.has(name)) name = `${wanted}_${++number}`;
    this.#numbers.set(wanted, number);
    this.#taken.add(name);
    return name;
  }
}

/** A schema's keywords with references rewritten: in `$ref` and in the mapping of OpenAPI's `discriminator`. */
function rewritten(keywords: Keywords, referTo: (reference: string) => string): Keywords {
  const { $ref: reference, discriminator } = keywords;
  const mapping = isJsonObject(discriminator) ? discriminator["mapping"] : undefined;
  return {
    ...keywords,
    ...(typeof reference === "string" && { $ref: referTo(reference) }),
    ...(isJsonObject(mapping) && {
      discriminator: { ...(discriminator as Keywords), mapping: mapEntries(mapping, referTo) },
    }),
  };
}

function mapEntries(mapping: Keywords, referTo: (reference: string) => string): Keywords {
  return Object.fromEntries(
    Object.entries(mapping).map(([value, to]) => [
      value,
      typeof to === "string" && to.startsWith("#/") ? referTo(to) : to,
    ]),
  );
}
