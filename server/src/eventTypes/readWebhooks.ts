import { setImmediate } from "node:timers/promises";
import { ApiError } from "../http/contract/errors.ts";
import { bundleSchema } from "./bundleSchema.ts";
import { checkEventType, type CheckedEventType, type GivenEventType } from "./checkEventType.ts";
import { resolveLocal } from "./jsonPointer.ts";
import { ReadingBudget } from "./readingBudget.ts";
import { maxEventTypes } from "./schemas.ts";
import { isObject, type Keywords } from "./subschemas.ts";

/** The event types that an OpenAPI document describes, and the webhooks of which none could be made. */
export interface ReadWebhooks {
  types: CheckedEventType[];
  refused: { name: string; reason: string }[];
}

/** References that follow one another: a circle of nothing else would have no end. */
const maxHops = 16;
const maxShownNameCharacters = 256;

/**
 * Reads the `webhooks` of an OpenAPI document: the name under which each stands is the type, its first tag the group, and
 * the payload is that of the request's body in JSON. Other requests are let in between any two.
 * @throws {ApiError} 400 when it is no such document.
 */
export async function readWebhooks(document: Keywords): Promise<ReadWebhooks> {
  const webhooks = webhooksOf(document);
  const budget = new ReadingBudget();
  const read: ReadWebhooks = { types: [], refused: [] };
  for (const [name, item] of Object.entries(webhooks)) {
    await setImmediate();
    try {
      read.types.push(checkEventType(eventTypeOf({ document, budget }, name, item)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      read.refused.push({
        name: name.slice(0, maxShownNameCharacters).toWellFormed(),
        reason: error.message,
      });
    }
  }
  return read;
}

function webhooksOf(document: Keywords): Keywords {
  const { openapi, webhooks } = document;
  if (typeof openapi !== "string" || !/^3\.[12]\.\d/.test(openapi)) {
    throw new ApiError(400, "openapi must be a version of 3.1 or 3.2, in which webhooks are described");
  }
  if (!isObject(webhooks) || Object.keys(webhooks).length === 0) {
    throw new ApiError(400, "webhooks is required: the document describes none");
  }
  const count = Object.keys(webhooks).length;
  if (count > maxEventTypes) {
    throw new ApiError(400, `webhooks has ${count} entries: ${maxEventTypes} are allowed`);
  }
  return webhooks;
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
  const schema = isObject(body["schema"])
    ? bundleSchema(reading.document, body["schema"], reading.budget)
    : null;
  const example = exampleOf(reading, body);
  reading.budget.forOne("example")(example);
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
  const method = methods.find((one) => isObject(item[one]));
  return method === undefined ? {} : followed(reading, item[method]);
}

/** What the body of an operation says of JSON; nothing where it has no such body. */
function jsonBodyOf(reading: Reading, { requestBody }: Keywords): Keywords {
  if (requestBody === undefined) return {};
  const { content } = followed(reading, requestBody);
  if (!isObject(content)) return {};
  const types = Object.keys(content);
  const type =
    types.find((one) => /^application\/json\s*(?:;|$)/i.test(one)) ??
    types.find((one) => /^application\/[\w.+-]{1,100}\+json\s*(?:;|$)/i.test(one));
  return type === undefined ? {} : followed(reading, content[type]);
}

/** The first example that there is: of the body, or of its schema. */
function exampleOf(reading: Reading, { example, examples, schema }: Keywords): unknown {
  if (example !== undefined) return example;
  const [first] = isObject(examples) ? Object.values(examples) : [];
  if (first !== undefined) return followed(reading, first)["value"] ?? null;
  if (!isObject(schema)) return null;
  const described = followed(reading, schema);
  const { examples: ofSchema } = described;
  return described["example"] ?? (Array.isArray(ofSchema) ? (ofSchema[0] as unknown) : undefined) ?? null;
}

/** An object of the document, or the one that it refers to. @throws {ApiError} 400 when there is none. */
function followed({ document }: Reading, given: unknown): Keywords {
  let value = given;
  for (let hops = 0; isObject(value) && typeof value["$ref"] === "string"; hops++) {
    const reference = value["$ref"];
    if (hops === maxHops) throw new ApiError(400, `$ref ${shown(reference)} leads in a circle`);
    const found = resolveLocal(document, reference);
    if (found === undefined)
      throw new ApiError(400, `$ref ${shown(reference)} points to nothing in the document`);
    value = found.value;
  }
  return isObject(value) ? value : {};
}

function shown(reference: string): string {
  return reference.length > 100 ? `${reference.slice(0, 100).toWellFormed()}…` : reference;
}
