import { setImmediate } from "node:timers/promises";
import { bundleSchema } from "./bundleSchema.ts";
import { type CheckedEventType, checkEventType, type GivenEventType } from "./checkEventType.ts";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { DocumentProblem, ReadingBudget, resolveLocal, shownReference } from "./openApiDocument.ts";
import { maxEventTypes } from "./schemas.ts";
import type { Keywords } from "./subschemas.ts";
import { isJsonObject, pathOfNumber, roundedFault } from "../http/contract/json.ts";

/** The event types that an OpenAPI document describes, and the webhooks that could not be read as one. */
export interface ReadWebhooks {
  types: CheckedEventType[];
  refused: { name: string; reason: string }[];
}

/** The most references in a row that are followed, because a circle of references has no end. */
const maxHops = 16;
const maxShownNameCharacters = 256;

/**
 * Reads the `webhooks` of an OpenAPI document. The key of each webhook is the event type's name, its first tag the group, and
 * the schema of the request's JSON body the schema of the payload. Yields the event loop before each webhook.
 */
export async function readWebhooks(document: Keywords): Promise<Read<ReadWebhooks>> {
  const found = webhooksOf(document);
  if (!found.ok) return found;
  const budget = new ReadingBudget();
  const read: ReadWebhooks = { types: [], refused: [] };
  for (const [name, item] of Object.entries(found.value)) {
    await setImmediate();
    const checked = readWebhook({ document, budget }, name, item);
    if (checked.ok) read.types.push(checked.value);
    else
      read.refused.push({
        name: name.slice(0, maxShownNameCharacters).toWellFormed(),
        reason: checked.message,
      });
  }
  return { ok: true, value: read };
}

function webhooksOf({ openapi, webhooks }: Keywords): Read<Keywords> {
  if (typeof openapi !== "string" || !/^3\.[12]\.\d/.test(openapi)) {
    return unreadable(
      "openapi must be a version of 3.1 or 3.2: the service reads webhooks only from these versions",
    );
  }
  if (!isJsonObject(webhooks) || Object.keys(webhooks).length === 0) {
    return unreadable("webhooks is required: the document has no webhooks");
  }
  const count = Object.keys(webhooks).length;
  return count > maxEventTypes
    ? unreadable(`webhooks has ${count} entries: ${maxEventTypes} are allowed`)
    : { ok: true, value: webhooks };
}

function readWebhook(reading: Reading, name: string, item: unknown): Read<CheckedEventType> {
  try {
    return checkEventType(eventTypeOf(reading, name, item));
  } catch (error) {
    if (error instanceof DocumentProblem) return unreadable(error.message);
    throw error;
  }
}

interface Reading {
  document: Keywords;
  budget: ReadingBudget;
}

function eventTypeOf(reading: Reading, name: string, given: unknown): GivenEventType {
  const item = followed(reading, given);
  const operation = operationOf(reading, item);
  const { tags } = operation;
  const text = [operation["description"], operation["summary"], item["description"], item["summary"]];
  const body = jsonBodyOf(reading, operation);
  const schema = isJsonObject(body["schema"])
    ? bundleSchema(reading.document, body["schema"], reading.budget)
    : null;
  const example = exampleOf(reading, body);
  reading.budget.forOne("example")(example);
  // Any larger whole number may have been rounded by the parser, and an example is returned as it was given.
  const rounded = pathOfNumber(example, (number) => Math.abs(number) > Number.MAX_SAFE_INTEGER);
  if (rounded !== undefined) throw new DocumentProblem(roundedFault(`.example${rounded}`));
  return {
    name,
    description: text.find((one): one is string => typeof one === "string" && one !== "") ?? "",
    group: Array.isArray(tags) && typeof tags[0] === "string" ? tags[0] : "",
    deprecated: operation["deprecated"] === true,
    schema,
    example,
  };
}

const methods = ["post", "put", "patch", "delete", "get"];

function operationOf(reading: Reading, item: Keywords): Keywords {
  const method = methods.find((one) => isJsonObject(item[one]));
  return method === undefined ? {} : followed(reading, item[method]);
}

/** The OpenAPI description of an operation's JSON body; empty if it has no such body. */
function jsonBodyOf(reading: Reading, { requestBody }: Keywords): Keywords {
  if (requestBody === undefined) return {};
  const { content } = followed(reading, requestBody);
  if (!isJsonObject(content)) return {};
  const types = Object.keys(content);
  const type =
    types.find((one) => /^application\/json\s*(?:;|$)/i.test(one)) ??
    types.find((one) => /^application\/[\w.+-]{1,100}\+json\s*(?:;|$)/i.test(one));
  return type === undefined ? {} : followed(reading, content[type]);
}

/** The first example of the body or of its schema; null for none. */
function exampleOf(reading: Reading, { example, examples, schema }: Keywords): unknown {
  if (example !== undefined) return example;
  const [first] = isJsonObject(examples) ? Object.values(examples) : [];
  if (first !== undefined) return followed(reading, first)["value"] ?? null;
  if (!isJsonObject(schema)) return null;
  const described = followed(reading, schema);
  const { examples: ofSchema } = described;
  return described["example"] ?? (Array.isArray(ofSchema) ? (ofSchema[0] as unknown) : undefined) ?? null;
}

/** An object of the document, after following its references. @throws {DocumentProblem} when there is no such object. */
function followed({ document }: Reading, given: unknown): Keywords {
  let value = given;
  for (let hops = 0; isJsonObject(value) && typeof value["$ref"] === "string"; hops++) {
    const reference = value["$ref"];
    if (hops === maxHops) throw new DocumentProblem(`$ref ${shownReference(reference)} is circular`);
    const found = resolveLocal(document, reference);
    if (found === undefined)
      throw new DocumentProblem(`$ref ${shownReference(reference)} points to nothing in the document`);
    value = found.value;
  }
  return isJsonObject(value) ? value : {};
}
